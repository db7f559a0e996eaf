import { stripVTControlCharacters } from 'node:util';

/** Reports a check that this machine cannot run, so that the check does not look passed. */
export function sayNotChecked(what: string, why: string): void {
  process.stderr.write(`not checked: ${what}: ${why}\n`);
}

/** The first line with an error in a failed program's output, or else the last line. */
export function errorLineOf(error: unknown): string {
  const {
    stderr = '',
    stdout = '',
    message,
  } = error as { stderr?: string; stdout?: string; message: string };
  const lines = stripVTControlCharacters(`${stdout}\n${stderr}`)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  return lines.find((line) => /\berror\b/i.test(line)) ?? lines.at(-1) ?? message;
}
