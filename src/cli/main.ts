#!/usr/bin/env node
import { constants } from 'node:os';
import { CommanderError } from 'commander';
import { HoldfastError } from '../../clients/typescript';
import { escapeText } from '../wire/escape-text';
import { CliError, EXIT, exitCodeOf } from './exit-codes';
import { createProgram } from './program';
import { wantsColour, type Terminal } from './terminal';

/** The program `holdfast`: reads the arguments, prints an error, and ends with the exit code. */

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

const interrupted = new AbortController();
let signalCode = 0;
for (const signal of SIGNALS) {
  process.once(signal, () => {
    signalCode ||= 128 + constants.signals[signal];
    interrupted.abort(new CliError(`ended by ${signal}`, signalCode));
  });
}

// The reader has closed the pipe, as `head` does: there is nobody to print for.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(EXIT.done);
});

const { stdout, stderr } = process;
const terminal: Terminal = {
  env: process.env,
  out: stdout,
  err: stderr,
  input: process.stdin,
  columns: stdout.isTTY ? stdout.columns : undefined,
  outHasColour: wantsColour(process.env, stdout.isTTY),
  errIsTerminal: stderr.isTTY,
  interrupted: interrupted.signal,
};

createProgram(terminal)
  .parseAsync(process.argv)
  .then(
    () => (process.exitCode ??= signalCode),
    (error: unknown) => (process.exitCode = report(error)),
  );

/** Prints the error for the user. Returns the exit code. */
function report(error: unknown): number {
  // Commander has printed its own message.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  if (signalCode !== 0) return signalCode;
  if (error instanceof CliError || error instanceof HoldfastError) {
    process.stderr.write(`holdfast: ${escapeText(error.message)}\n`);
    return exitCodeOf(error);
  }
  // An invalid option of the client, for example a wrong duration.
  if (error instanceof RangeError) {
    process.stderr.write(`holdfast: ${escapeText(error.message)}\n`);
    return EXIT.usage;
  }
  console.error(error);
  return EXIT.defect;
}
