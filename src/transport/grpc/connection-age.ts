import { constants, type ServerHttp2Session } from 'node:http2';

/** The part of the maximum age by which connections differ, so that many clients do not reconnect together. */
const JITTER = 0.1;
/** How often the server looks whether the last call of an old connection has ended (ms). */
const LOOK_MS = 1000;
/** After this time an old connection accepts no further call (ms). */
const FAREWELL_MS = 60_000;
/** GOAWAY with this id says that the connection will end, but that calls on their way are still served. */
const LAST_STREAM_ID = 2 ** 31 - 1;

export interface OldConnection {
  /** Ends the streams of the connection. */
  readonly endStreams: () => void;
  readonly hasCalls: () => boolean;
}

/**
 * Ends a connection in order when it has reached `maxAgeMs`: announces the end (GOAWAY), ends the streams, lets all
 * other calls finish, then closes the connection. The option grpc.max_connection_age_ms is not used: it announces the
 * end and closes in one step, so calls that are on their way would fail, and it resets streams.
 */
export function limitAge(
  session: ServerHttp2Session,
  maxAgeMs: number,
  { endStreams, hasCalls }: OldConnection,
): void {
  const ageMs = maxAgeMs * (1 - JITTER + 2 * JITTER * Math.random());
  let timer: NodeJS.Timeout;
  const leave = (): void => {
    if (session.destroyed || session.closed) return;
    session.goaway(constants.NGHTTP2_NO_ERROR, LAST_STREAM_ID);
    endStreams();
    const closeBy = performance.now() + FAREWELL_MS;
    const look = (): void => {
      // A first look always comes later, because calls of the client may be on their way.
      if (!session.destroyed && (!hasCalls() || performance.now() > closeBy)) session.close();
      else timer = setTimeout(look, LOOK_MS).unref();
    };
    timer = setTimeout(look, LOOK_MS).unref();
  };
  timer = setTimeout(leave, ageMs).unref();
  session.once('close', () => clearTimeout(timer));
}
