import { stripVTControlCharacters } from 'node:util';

/** Says that something could not be looked at on this machine. A test that was passed over must not look passed. */
export function sayNotChecked(what: string, why: string): void {
  process.stderr.write(`not checked: ${what}: ${why}\n`);
}

/** The one line of a failed program's output that tells most: the first that speaks of an error, else the last. */
export function wordsOf(error: unknown): string {
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
