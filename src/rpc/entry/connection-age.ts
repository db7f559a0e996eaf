import type { ServerHttp2Session } from 'node:http2';

/**
 * The ages of connections differ by up to this part of the maximum age, so that many clients do not reconnect
 * together.
 */
const JITTER = 0.1;
/** A stream that waited at the gate has begun, or was refused, within this time (ms). */
const GATE_MS = 1000;
/** Calls that are not streams have at least this time to end (ms). */
const FAREWELL_MS = 60_000;

export interface OldConnection {
  /** Ends the streams of the connection that have begun. */
  readonly endStreams: () => void;
  /** Ends all calls, and cuts the connection. */
  readonly cut: () => void;
}

/**
 * Ends a connection that has reached `maxAgeMs`: announces the end, ends the streams, and lets all other calls
 * finish. Cuts the connection after `maxAgeMs` more, and at least `FAREWELL_MS`. The option
 * grpc.max_connection_age_ms is not used, because it resets streams.
 *
 * The announcement is one GOAWAY with the id of the last accepted call, so the client repeats a call on its way on
 * another connection. A first GOAWAY with the largest id would promise to serve that call, but nghttp2 drops all new
 * streams after the first GOAWAY.
 */
export function limitAge(
  session: ServerHttp2Session,
  maxAgeMs: number,
  { endStreams, cut }: OldConnection,
): void {
  const ageMs = maxAgeMs * (1 - JITTER + 2 * JITTER * Math.random());
  const timers: NodeJS.Timeout[] = [];
  const after = (ms: number, work: () => void): void => void timers.push(setTimeout(work, ms).unref());
  after(ageMs, () => {
    session.close();
    endStreams();
    after(GATE_MS, endStreams);
    after(Math.max(maxAgeMs, FAREWELL_MS), cut);
  });
  session.once('close', () => timers.forEach(clearTimeout));
}
