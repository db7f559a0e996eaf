import type { Http2Server, Http2Session, IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { Readable } from 'node:stream';
import type { Server } from '@grpc/grpc-js';

/**
 * Everything that we take from the inside of grpc-js because it has no public way to it: which HTTP/2
 * connections there are, which of them a call came on, a call's timeout before grpc-js reads it, and how far it
 * reads ahead. The version is pinned, `watchConnections` refuses a shape that it does not know, and test/contract
 * holds the rest.
 */

/** grpc-js reckons timeouts in 32 bits: past 24.8 days they are in the past, and the call ends at once. */
export const LONGEST_TIMEOUT_DAYS = 24;
const LONGEST_TIMEOUT_SECONDS = LONGEST_TIMEOUT_DAYS * 86_400;
const SECONDS_OF_UNIT: Readonly<Record<string, number>> = {
  H: 3600,
  M: 60,
  S: 1,
};

export interface Connections {
  /** Cuts all that are still open. */
  destroyAll(): void;
}

/** Call it once, when the server is bound and before it is announced. */
export function watchConnections(server: Server): Connections {
  const http2Servers: unknown = Reflect.get(server, 'http2Servers');
  if (!(http2Servers instanceof Map) || http2Servers.size === 0) {
    throw new Error('this version of @grpc/grpc-js keeps its HTTP/2 servers elsewhere');
  }
  const sessions = new Set<Http2Session>();
  for (const http2Server of http2Servers.keys() as Iterable<Http2Server>) {
    http2Server.prependListener('stream', clampTimeout);
    http2Server.on('session', (session) => {
      sessions.add(session);
      session.once('close', () => sessions.delete(session));
    });
  }
  return {
    destroyAll: () => {
      for (const session of sessions) session.destroy();
    },
  };
}

/** Runs before grpc-js's own listener, which gets the same headers object. */
function clampTimeout(_stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
  const timeout = headers['grpc-timeout'];
  if (timeout === undefined) return;
  headers['grpc-timeout'] = clampedTimeout(timeout);
}

/** Milliseconds and smaller units cannot express what is too long in their 8 digits. */
export function clampedTimeout<T>(timeout: T): T | string {
  if (typeof timeout !== 'string') return timeout;
  const perUnit = SECONDS_OF_UNIT[timeout.charAt(timeout.length - 1)];
  if (perUnit === undefined) return timeout;
  const amount = Number.parseInt(timeout, 10);
  return amount * perUnit > LONGEST_TIMEOUT_SECONDS ? `${LONGEST_TIMEOUT_SECONDS}S` : timeout;
}

/**
 * The HTTP/2 session that a call came on: one object for as long as the connection lives, over Unix sockets
 * too, where the peer has no address. Undefined once the call's stream is closed.
 */
export function connectionOf(surfaceCall: object): object | undefined {
  const { call } = surfaceCall as { call?: { stream?: { session?: object } } };
  return call?.stream?.session;
}

/**
 * How many messages of a client's stream are read before they are asked for. grpc-js leaves it at Node's 16, which
 * of messages of 4 MiB are 64 MiB for one stream; Node has no way to change it later than a stream is made.
 */
export function readAhead(stream: Readable, messages: number): void {
  const { _readableState: state } = stream as unknown as { _readableState?: { highWaterMark: number } };
  if (state === undefined) throw new Error('this version of Node keeps the state of its streams elsewhere');
  state.highWaterMark = messages;
}
