import type { ServerHttp2Session } from 'node:http2';

export interface KeepAliveTimes {
  /** From the answer to a ping until the next ping. */
  readonly timeMs: number;
  /** From a ping until a connection without an answer counts as silent. */
  readonly timeoutMs: number;
}

/**
 * Pings the client of a connection, and calls `onSilent` once if a ping stays unanswered. The pings of grpc-js are not
 * used, because a timeout there resets all streams with a code that clients do not retry.
 */
export function keepAlive(
  session: ServerHttp2Session,
  { timeMs, timeoutMs }: KeepAliveTimes,
  onSilent: () => void,
): void {
  let timer: NodeJS.Timeout;
  let answered = true;
  const ping = (): void => {
    if (session.destroyed) return;
    answered = false;
    timer = setTimeout(expire, timeoutMs).unref();
    session.ping(() => {
      answered = true;
      clearTimeout(timer);
      // A connection that is being closed sends no pings. The drain timeout ends such a connection.
      if (!session.closed && !session.destroyed) wait();
    });
  };
  // Timers run before reads. After a pause of this process an unread answer is read before setImmediate.
  const expire = (): void =>
    void setImmediate(() => {
      if (!answered && !session.destroyed) onSilent();
    });
  const wait = (): void => {
    timer = setTimeout(ping, timeMs).unref();
  };
  session.once('close', () => clearTimeout(timer));
  wait();
}
