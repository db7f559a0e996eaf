import type { ServerHttp2Session } from 'node:http2';
import { timeSpan } from '../../base/time-span';

export interface KeepAliveTimes {
  /** From the answer to a ping until the next ping. */
  readonly timeMs: number;
  /** From a ping until a connection without an answer counts as silent. */
  readonly timeoutMs: number;
}

/**
 * Pings the client of a connection, and calls `onLost` once if a ping stays unanswered. `problem` completes a sentence
 * about the connection. The pings of grpc-js are not used, because a timeout there resets all streams with a code that
 * clients do not retry.
 *
 * Node cannot ping a client that has announced the end of the connection (GOAWAY). Such a connection counts as lost
 * after the time in which the pings would have found a lost connection. Otherwise the server could renew the leases of a
 * vanished client for ever.
 */
export function keepAlive(
  session: ServerHttp2Session,
  { timeMs, timeoutMs }: KeepAliveTimes,
  onLost: (problem: string) => void,
): void {
  let timer: NodeJS.Timeout;
  let endTimer: NodeJS.Timeout | undefined;
  let answered = true;
  const ping = (): void => {
    if (session.destroyed) return;
    answered = false;
    timer = setTimeout(expire, timeoutMs).unref();
    session.ping(() => {
      answered = true;
      clearTimeout(timer);
      if (!session.closed && !session.destroyed) wait();
    });
  };
  // Timers run before reads. After a pause of this process an unread answer is read before setImmediate.
  const expire = (): void =>
    void setImmediate(() => {
      if (!answered && !session.destroyed)
        onLost(`left an HTTP/2 ping unanswered for ${timeSpan(timeoutMs)}`);
    });
  const endSoon = (): void => {
    clearTimeout(timer);
    const ms = timeMs + timeoutMs;
    // A timer of its own, because the answer to an earlier ping stops the other timer.
    endTimer = setTimeout(() => onLost(`was to end, as the client said ${timeSpan(ms)} ago`), ms).unref();
  };
  const wait = (): void => {
    timer = setTimeout(ping, timeMs).unref();
  };
  session.once('goaway', endSoon);
  session.once('close', () => {
    clearTimeout(timer);
    clearTimeout(endTimer);
  });
  wait();
}
