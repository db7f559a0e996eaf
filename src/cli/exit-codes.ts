import {
  ContendedError,
  CredentialError,
  InvalidRequestError,
  LeaseLostError,
  NotAllowedError,
  UnavailableError,
} from '../../clients/typescript';

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
