import { lstat, unlink } from 'node:fs/promises';
import { createConnection } from 'node:net';
import type { Server, ServerCredentials } from '@grpc/grpc-js';

export type Address =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string };

/** Why a server cannot listen where it is told to, in a plain sentence. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

/** Binds the server and resolves to where it listens, as a client would write it: the port is never 0. */
export async function listen(
  server: Server,
  address: Address,
  credentials: ServerCredentials,
): Promise<string> {
  if (address.kind === 'unix') {
    await removeStaleSocket(address.path);
    await bind(server, `unix:${address.path}`, credentials);
    return `unix:${address.path}`;
  }
  const host = address.host.includes(':') ? `[${address.host}]` : address.host;
  const port = await bind(server, `${host}:${address.port}`, credentials);
  return `${host}:${port}`;
}

function bind(server: Server, target: string, credentials: ServerCredentials): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(target, credentials, (error, port) => {
      if (error === null) resolve(port);
      else reject(new ListenError(`cannot listen on ${target}: ${explain(error.message)}`, { cause: error }));
    });
  });
}

const EXPLANATIONS: readonly (readonly [RegExp, string])[] = [
  [/EADDRINUSE/, 'another program listens there already'],
  [/EACCES|EPERM/, 'this user may not'],
  [/EADDRNOTAVAIL/, 'this machine has no such address'],
  [/ENOENT/, 'there is no such folder'],
  [/ENOTFOUND|EAI_AGAIN|resolution failed/i, 'the name is not known'],
  [/EINVAL|ENAMETOOLONG/, 'the path is too long for a socket, or no path'],
];

function explain(message: string): string {
  return EXPLANATIONS.find(([pattern]) => pattern.test(message))?.[1] ?? message;
}

/**
 * A server that was killed leaves its socket file, and no other can bind there. It is removed if nobody
 * listens on it; anything else at that path is left alone.
 */
async function removeStaleSocket(path: string): Promise<void> {
  const stat = await lstat(path).catch(() => undefined);
  if (stat === undefined) return;
  if (!stat.isSocket()) {
    throw new ListenError(`cannot listen on unix:${path}: there is a file that is no socket`);
  }
  const problem = await connectProblem(path);
  if (problem === undefined) {
    throw new ListenError(`cannot listen on unix:${path}: another program listens there already`);
  }
  if (problem !== 'ECONNREFUSED') throw new ListenError(`cannot listen on unix:${path}: ${explain(problem)}`);
  await unlink(path);
}

/** The error code of an attempt to connect; undefined if somebody answers. */
function connectProblem(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = createConnection(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(undefined);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
}
