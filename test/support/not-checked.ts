import { stripVTControlCharacters } from 'node:util';

/** Reports a check that this machine cannot run, so that it does not look passed. */
export function sayNotChecked(what: string, why: string): void {
  process.stderr.write(`not checked: ${what}: ${why}\n`);
}

/** The most telling line of a failed program's output: the first that mentions an error, else the last. */
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
