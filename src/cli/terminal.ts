import type { Writable } from 'node:stream';
import { InvalidArgumentError } from 'commander';
import {
  ContendedError,
  CredentialError,
  InvalidRequestError,
  LeaseLostError,
  NotAllowedError,
  UnavailableError,
} from '../../clients/typescript';
import { toMs } from '../../clients/typescript/time-span';

export interface Asking {
  /** The first question: most runs are granted before (ms). */
  readonly firstMs: number;
  readonly intervalMs: number;
  /** A server without an answer for this time is silent. The restart of a server takes less (ms). */
  readonly answerMs: number;
}

/** How the program asks. */
export const ASKING: Asking = { firstMs: 1000, intervalMs: 3000, answerMs: 5000 };

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
  /** How a command that waits or watches asks whether its servers answer. */
  readonly asking: Asking;
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

/**
 * The exit codes of every command, after sysexits.h where a code of that file fits. `lock run`, `semaphore run` and
 * `elect` end with the exit code of their command, or with 128 + n after the signal n.
 */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 64,
  unreachable: 69,
  defect: 70,
  /** Nothing is granted, because the store may have lost leases. `-E` does not change it: cron must hear of it. */
  paused: 74,
  notGranted: 75,
  lost: 76,
  denied: 77,
  notExecutable: 126,
  notFound: 127,
  /** As a shell says for SIGPIPE, which ends other programs here. Node ignores SIGPIPE. */
  brokenPipe: 141,
} as const;

/** The rows of the table in `--help` and in the documents. */
export const EXIT_TEXTS: readonly (readonly [code: string, meaning: string])[] = [
  ['0', 'done'],
  ['1', 'refused by the server, or failed: the last line of stderr says why'],
  ['64', 'wrong usage, an invalid value or an invalid configuration'],
  ['69', 'no server answered, or the servers cannot reach their store'],
  ['70', 'a defect of holdfast'],
  ['74', 'grants are paused, because the store may have lost leases'],
  ['75', 'not granted within --wait; --exit-not-granted sets another code'],
  ['76', 'the lease was lost, or --max-hold passed: the command was ended'],
  ['77', 'the server does not know the caller, or its policy refuses the call'],
  ['126, 127', 'the command cannot be executed, or was not found'],
  ['141', 'the reader of stdout ended early, as head does: the output is cut'],
  ['128 + n', 'signal n ended the command or holdfast'],
  ['other', 'the exit code of the command'],
];

/** The table for `--help`. */
export function exitCodeHelp(): string {
  const width = Math.max(...EXIT_TEXTS.map(([code]) => code.length));
  return `\nExit codes:\n${EXIT_TEXTS.map(([code, text]) => `  ${code.padEnd(width)}  ${text}`).join('\n')}`;
}

/** An error with a message for the user. */
export class CliError extends Error {
  override readonly name = 'CliError';

  constructor(
    message: string,
    readonly exitCode: number = EXIT.failed,
  ) {
    super(message);
  }
}

export class UsageError extends CliError {
  constructor(message: string) {
    super(message, EXIT.usage);
  }
}

const CODES = [
  [ContendedError, EXIT.notGranted],
  [LeaseLostError, EXIT.lost],
  [UnavailableError, EXIT.unreachable],
  [CredentialError, EXIT.denied],
  [NotAllowedError, EXIT.denied],
  [InvalidRequestError, EXIT.usage],
] as const;

export function exitCodeOf(error: unknown): number {
  if (error instanceof CliError) return error.exitCode;
  return CODES.find(([type]) => error instanceof type)?.[1] ?? EXIT.failed;
}

/** Parses "500ms", "30s", "5m" or "1.5h" to milliseconds. */
export function timeSpan(text: string): number {
  try {
    return toMs(text, 'the argument');
  } catch {
    throw new InvalidArgumentError('It must be a time such as 500ms, 30s, 5m or 1.5h.');
  }
}

/** Parses a whole number from `least` to `most`. */
export function wholeNumber(least: number, most = 2_147_483_647): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d{1,10}$/.test(text) || value < least || value > most) {
      throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
    }
    return value;
  };
}

export function exitCodeNumber(text: string): number {
  if (!/^\d{1,3}$/.test(text) || Number(text) > 255) {
    throw new InvalidArgumentError('It must be a whole number from 0 to 255.');
  }
  return Number(text);
}

/**
 * The own wall clock, for ages and times that people read. Times of the store are compared with this clock, so an age is
 * right to the difference of the two clocks. No decision depends on the wall clock.
 */
export function timeOfDayMs(): number {
  return Date.now();
}

/** "2026-11-26T14:02:11.345Z". */
export function timeOfDayText(ms = timeOfDayMs()): string {
  return new Date(ms).toISOString();
}

/** "12:03:20", in the time zone of the machine. */
export function clockText(ms: number): string {
  const time = new Date(ms);
  return [time.getHours(), time.getMinutes(), time.getSeconds()]
    .map((part) => String(part).padStart(2, '0'))
    .join(':');
}
