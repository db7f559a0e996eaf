/**
 * The messages between `holdfast … run` and its watchdog, and between the watchdog and its launcher. All times are times of
 * the shared clock (ms).
 */

/** The code of `failed` if the lease is about to end before the command has started. */
export const TOO_LATE = 'TOO_LATE';
/** The code of `failed` if Node refuses the name of the command, for example an empty name. */
export const INVALID_NAME = 'ERR_INVALID_ARG_VALUE';

export interface Limits {
  /** The command must have ended before this time. */
  readonly deadline: number;
  /** The time between SIGTERM and SIGKILL. */
  readonly graceMs: number;
  /** SIGKILL comes this long before the deadline at the latest. */
  readonly marginMs: number;
}

/** The only message to the launcher. */
export interface LaunchMessage {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** The command must not start at this time or later. */
  readonly latestStart: number;
}

export interface StartMessage extends Limits, Omit<LaunchMessage, 'latestStart'> {
  readonly kind: 'start';
}

export type ToWatchdog =
  | StartMessage
  /** A renewal has moved the deadline. */
  | { readonly kind: 'deadline'; readonly deadline: number }
  /** A signal for the command. */
  | { readonly kind: 'signal'; readonly signal: NodeJS.Signals }
  /** End the command now: the lease was lost. */
  | { readonly kind: 'stop' };

/** The command cannot be executed. */
export interface NotStarted {
  readonly kind: 'failed';
  readonly code: string;
  readonly message: string;
}

export const TOO_LATE_FAILURE: NotStarted = {
  kind: 'failed',
  code: TOO_LATE,
  message: 'the lease is about to end',
};

export interface CommandEnd {
  readonly kind: 'exited';
  /** The exit code of the command, or null after a signal. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export type FromLauncher =
  | { readonly kind: 'ready' }
  | { readonly kind: 'started' }
  | NotStarted
  /** The processes that the command has left may still run. */
  | CommandEnd;

/** Every process of the session has ended. */
export interface Ended {
  readonly kind: 'ended';
  /** The exit code of the command, or null after a signal. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The watchdog has ended the command: after `stop`, after a signal, or before the deadline. */
  readonly wasStopped: boolean;
  /** The watchdog has ended the command after this signal to the watchdog. */
  readonly stopSignal?: NodeJS.Signals;
  /** The time from the deadline to the end of the last process. 0: the end was in time. */
  readonly lateMs: number;
}

export type FromWatchdog =
  /** A command can start at once, in this session. */
  { readonly kind: 'ready'; readonly session: number } | NotStarted | Ended;
