/** What a parent and its supervisor say to each other; see child-supervisor.ts. */

/** What the supervisor is told first. */
export interface SupervisorSetup {
  readonly kind: 'setup';
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env: NodeJS.ProcessEnv;
  /** Where the child's output goes; without it, to the supervisor's own output, which the parent reads. */
  readonly logFile?: string;
  /** How long the child has to end by itself after SIGTERM, before SIGKILL; 0: SIGKILL at once. */
  readonly graceMs: number;
  /** A folder that is removed at the very end. */
  readonly removeAtEnd?: string;
  /** A unix socket that the supervisor connects to: when it closes, that too is the end. */
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
