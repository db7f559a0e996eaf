/** The session that a command's call belongs to. */
export interface CallSession {
  /** `<client process>/<session number>.<command id>`. The scripts compare the commands of one client process by these numbers. */
  readonly speaker: string;
  readonly signs: SignsOfLife;
  /**
   * Runs `listener` once when the client gives the command up. The client waits for the outcome, unlike after the
   * cancellation of a call.
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
