/** The messages between a parent and its supervisor process; see child-supervisor.ts. */

/** The first message to the supervisor. */
export interface SupervisorSetup {
  readonly kind: 'setup';
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env: NodeJS.ProcessEnv;
  /** Receives the child's output. Without a file the output goes to the supervisor's output, which the parent reads. */
  readonly logFile?: string;
  /** Time between SIGTERM and SIGKILL for the child. With 0 the supervisor sends SIGKILL at once. */
  readonly graceMs: number;
  /** A folder that the supervisor removes after the child has ended. */
  readonly removeAtEnd?: string;
  /** A unix socket that the supervisor connects to. The supervisor ends the child when this connection closes. */
  readonly lifeline?: string;
}

export type ToSupervisor = SupervisorSetup | { readonly kind: 'start' } | { readonly kind: 'end' };

export interface ChildExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export type FromSupervisor =
  | { readonly kind: 'started'; readonly pid: number }
  | { readonly kind: 'failed'; readonly message: string }
  | ({ readonly kind: 'exited'; readonly pid: number } & ChildExit);
