#!/usr/bin/env node
import { constants, hostname, userInfo } from 'node:os';
import { CommanderError } from 'commander';
import { HoldfastError } from '../../clients/typescript';
import { ASKING, CliError, EXIT, exitCodeOf, type Terminal, wantsColour } from './terminal';
import { problemText } from './output';
import { createProgram } from './program';

/** The program `holdfast`: reads the arguments, prints an error, and ends with the exit code. */

/** The signals that end a process. */
const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;
/** Signals that a running command may know, and that mean nothing to this program. */
const FORWARDED = ['SIGUSR1', 'SIGUSR2', 'SIGWINCH'] as const;

const interrupted = new AbortController();
let signalCode = 0;
let receive: ((signal: NodeJS.Signals) => void) | undefined;
function onEnding(signal: NodeJS.Signals): void {
  if (receive !== undefined) return receive(signal);
  // The second signal ends a program that hangs.
  if (signalCode !== 0) process.exit(signalCode);
  signalCode = 128 + constants.signals[signal];
  interrupted.abort(new CliError(`ended by ${signal}`, signalCode));
}
for (const signal of ENDING) process.on(signal, onEnding);

// Without a listener, SIGUSR1 would open the debugger of Node.
for (const signal of FORWARDED) process.on(signal, () => receive?.(signal));

function forwardSignals(to: (signal: NodeJS.Signals) => void): () => void {
  receive = to;
  return () => (receive = undefined);
}

// A warning for the authors of a library, for example of TLS to an IP address, is no message for users.
process.noDeprecation = true;

// A command under a lease goes on when nobody reads the messages.
process.stderr.on('error', () => undefined);
function onOutputError(error: NodeJS.ErrnoException): void {
  // The reader has closed the pipe, as `head` does: there is nobody to print for. An export that was cut is no success.
  if (error.code === 'EPIPE') process.exit(EXIT.brokenPipe);
  process.stderr.write(`holdfast: stdout cannot be written: ${error.message}\n`, () =>
    process.exit(EXIT.failed),
  );
}
process.stdout.on('error', onOutputError);

function releaseProcess(): void {
  for (const signal of ENDING) process.off(signal, onEnding);
  process.stdout.off('error', onOutputError);
}

const { stdout, stderr } = process;
const terminal: Terminal = {
  env: process.env,
  out: stdout,
  err: stderr,
  // Only on demand: the stdin of a command under a lease belongs to the command.
  get input() {
    return process.stdin;
  },
  columns: stdout.isTTY ? stdout.columns : undefined,
  outHasColour: wantsColour(process.env, stdout.isTTY),
  errIsTerminal: stderr.isTTY,
  asking: ASKING,
  holderLabel: `${userName()}@${hostname()}:${process.pid}`,
  interrupted: interrupted.signal,
  forwardSignals,
  releaseProcess,
  exitWith: (code) => (process.exitCode = code),
};

createProgram(terminal)
  .parseAsync(process.argv)
  .then(
    () => (process.exitCode ??= signalCode),
    // The process does not wait for a server without an answer, nor for the writer of a pipe that was being read.
    (error: unknown) => process.exit(report(error)),
  );

/** A container may run as a user without a name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? 'unknown');
  }
}

/** Prints the error for the user. Returns the exit code. */
function report(error: unknown): number {
  // Commander has printed its own message.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  if (signalCode !== 0) return signalCode;
  if (error instanceof CliError || error instanceof HoldfastError) {
    process.stderr.write(`holdfast: ${problemText(error)}\n`);
    return exitCodeOf(error);
  }
  console.error(error);
  return EXIT.defect;
}
