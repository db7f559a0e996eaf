import type { Writable } from 'node:stream';

/** What a command may use of its process. Tests give their own. */
export interface Terminal {
  readonly env: NodeJS.ProcessEnv;
  /** Data. */
  readonly out: Writable;
  /** Messages for people. */
  readonly err: Writable;
  readonly input: NodeJS.ReadableStream;
  /** The width of the terminal on `out`, in columns. Undefined: `out` is no terminal. */
  readonly columns: number | undefined;
  readonly outHasColour: boolean;
  /** "user@host:pid", the label of this process beside its leases. */
  readonly holderLabel: string;
  /** Whether `err` is a terminal, which shows progress. */
  readonly errIsTerminal: boolean;
  /** Aborts on the first SIGINT, SIGTERM, SIGHUP or SIGQUIT. */
  readonly interrupted: AbortSignal;
  /**
   * Gives all later signals for the process to `receive` instead. The function in the answer ends this.
   */
  forwardSignals(receive: (signal: NodeJS.Signals) => void): () => void;
  /** Removes the reactions of this program to signals and to a closed pipe, because a server has its own. */
  releaseProcess(): void;
  /** The process ends with this code, after the command. */
  exitWith(code: number): void;
}

/** https://no-color.org: any text except the empty one. */
export function wantsColour(env: NodeJS.ProcessEnv, isTerminal: boolean): boolean {
  return isTerminal && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
}
