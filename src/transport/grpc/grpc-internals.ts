import type { Http2Server, Http2Session, IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { Readable } from 'node:stream';
import type { Server } from '@grpc/grpc-js';

/**
 * All uses of private fields of grpc-js and Node. No public API gives the open HTTP/2 connections, the connection of a
 * call, the raw timeout of a call, or the read-ahead of a stream. The version of grpc-js is pinned, `watchConnections`
 * throws if a field is missing, and test/contract checks the behaviour.
 */

/** grpc-js computes timeouts in 32 bits. A timeout above 24.8 days overflows, and the call ends immediately. */
export const LONGEST_TIMEOUT_DAYS = 24;
const LONGEST_TIMEOUT_SECONDS = LONGEST_TIMEOUT_DAYS * 86_400;
const SECONDS_OF_UNIT: Readonly<Record<string, number>> = {
  H: 3600,
  M: 60,
  S: 1,
};

export interface Connections {
  /** Closes all open connections immediately. */
  destroyAll(): void;
}

/** Must be called once, after the server is bound and before clients learn the address. */
export function watchConnections(server: Server): Connections {
  const http2Servers: unknown = Reflect.get(server, 'http2Servers');
  if (!(http2Servers instanceof Map) || http2Servers.size === 0) {
    throw new Error('this version of @grpc/grpc-js has no field http2Servers; use the pinned version');
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

/** Runs before the listener of grpc-js, which receives the same headers object. */
function clampTimeout(_stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
  const timeout = headers['grpc-timeout'];
  if (timeout === undefined) return;
  headers['grpc-timeout'] = clampedTimeout(timeout);
}

/** Shortens a timeout that is too long. A timeout in milliseconds or a smaller unit has at most 8 digits, and fits. */
export function clampedTimeout<T>(timeout: T): T | string {
  if (typeof timeout !== 'string') return timeout;
  const perUnit = SECONDS_OF_UNIT[timeout.charAt(timeout.length - 1)];
  if (perUnit === undefined) return timeout;
  const amount = Number.parseInt(timeout, 10);
  return amount * perUnit > LONGEST_TIMEOUT_SECONDS ? `${LONGEST_TIMEOUT_SECONDS}S` : timeout;
}

/**
 * The HTTP/2 session of a call. Identifies the connection, also over Unix sockets, where the peer has no address.
 * Undefined: the call's stream is closed.
 */
export function connectionOf(grpcCall: object): object | undefined {
  const { call } = grpcCall as { call?: { stream?: { session?: object } } };
  return call?.stream?.session;
}

/**
 * Sets how many messages of a client's stream are buffered ahead of the reader. The default of Node is 16 messages,
 * which may take 64 MiB. Node has no public API to change the value after the stream is created.
 */
export function setReadAhead(stream: Readable, messages: number): void {
  const { _readableState: state } = stream as unknown as { _readableState?: { highWaterMark: number } };
  if (state === undefined) throw new Error('streams of this version of Node have no field _readableState');
  state.highWaterMark = messages;
}
