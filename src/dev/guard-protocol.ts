/** What a parent and its guard say to each other; see guard.ts. */

/** What the guard is told first. */
export interface GuardSetup {
  readonly kind: 'setup';
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env: NodeJS.ProcessEnv;
  /** Where the child's output goes; without it, to the guard's own output, which the parent reads. */
  readonly logFile?: string;
  /** How long the child has to end by itself after SIGTERM, before SIGKILL; 0: SIGKILL at once. */
  readonly graceMs: number;
  /** A folder that is removed at the very end. */
  readonly removeAtEnd?: string;
  /** A unix socket that the guard connects to: when it closes, that too is the end. */
  readonly lifeline?: string;
}

export type ToGuard = GuardSetup | { readonly kind: 'start' } | { readonly kind: 'end' };

export interface ChildExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export type FromGuard =
  | { readonly kind: 'started'; readonly pid: number }
  | { readonly kind: 'failed'; readonly message: string }
  | ({ readonly kind: 'exited'; readonly pid: number } & ChildExit);
