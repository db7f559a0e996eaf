import { lstat, unlink } from 'node:fs/promises';
import { createConnection } from 'node:net';
import type { Server, ServerCredentials } from '@grpc/grpc-js';

export type Address =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string };

/** The server cannot listen at the configured address. The message says why, in one sentence. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

/** Binds the server. Resolves to the target that clients use. Its port is never 0. */
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
  [/EADDRINUSE/, 'another program already listens there'],
  [/EACCES|EPERM/, 'this user has no permission'],
  [/EADDRNOTAVAIL/, 'this machine has no such address'],
  [/ENOENT/, 'the folder does not exist'],
  [/ENOTFOUND|EAI_AGAIN|resolution failed/i, 'the host name cannot be resolved'],
  [/EINVAL|ENAMETOOLONG/, 'the path is too long for a socket, or is not a path'],
];

/** Says why an address cannot be used, from the message of an error of Node or grpc-js. */
export function explain(message: string): string {
  return EXPLANATIONS.find(([pattern]) => pattern.test(message))?.[1] ?? message;
}

/**
 * Removes the socket file of a killed server, because no server can bind while the file exists. Throws for a socket
 * with a listener, and for any other kind of file.
 */
async function removeStaleSocket(path: string): Promise<void> {
  const stat = await lstat(path).catch(() => undefined);
  if (stat === undefined) return;
  if (!stat.isSocket()) {
    throw new ListenError(`cannot listen on unix:${path}: a file that is not a socket exists there`);
  }
  const problem = await connectProblem(path);
  if (problem === undefined) {
    throw new ListenError(`cannot listen on unix:${path}: another program already listens there`);
  }
  if (problem !== 'ECONNREFUSED') throw new ListenError(`cannot listen on unix:${path}: ${explain(problem)}`);
  await unlink(path);
}

/** Tries to connect. Resolves to the error code, or to undefined if the connection was accepted. */
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
