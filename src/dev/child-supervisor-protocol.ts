/** The messages between a parent and its supervisor process. See child-supervisor.ts. */

/** The first message to the supervisor. */
export interface SupervisorSetup {
  readonly kind: 'setup';
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env: NodeJS.ProcessEnv;
  /** The file for the child's output. Undefined: the parent reads the output from the supervisor's pipes. */
  readonly logFile?: string;
  /** The time between SIGTERM and SIGKILL for the child (ms). 0: the supervisor sends SIGKILL immediately. */
  readonly graceMs: number;
  /** A folder that the supervisor removes after the child has ended. */
  readonly removeAtEnd?: string;
  /** A Unix socket to which the supervisor connects. The supervisor ends the child when this connection closes. */
  readonly lifeline?: string;
}

export type ToSupervisor = SupervisorSetup | { readonly kind: 'start' } | { readonly kind: 'end' };

export interface ChildExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The end of the child's output, even if the log file could not be written. Undefined without a log file. */
  readonly lastOutput?: string;
}

export type FromSupervisor =
  | { readonly kind: 'started'; readonly pid: number }
  | { readonly kind: 'failed'; readonly message: string }
  | ({ readonly kind: 'exited'; readonly pid: number } & ChildExit);
