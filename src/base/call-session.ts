/** The session that a command's call belongs to. */
export interface CallSession {
  /** `<client process>/<session number>.<command id>`. The scripts compare the commands of one client process by these numbers. */
  readonly speaker: string;
  readonly signs: SignsOfLife;
  /**
   * Runs `listener` once when the client cancels the command. The client still waits for the outcome. After the
   * cancellation of a gRPC call, no client waits.
   */
  onGivenUp(listener: () => void): void;
}

/** The signs that a client lives: the heartbeats of its session. */
export interface SignsOfLife {
  /** The last sign (ms, monotonic clock). */
  readonly lastAt: number;
  /** No lease is renewed after this time without a sign (ms). */
  readonly timeoutMs: number;
  /** Runs `listener` once at the next sign. */
  onNext(listener: () => void): void;
}
