import type { Attempt, Outcome } from './attempt';

const MARKS: Readonly<Record<Outcome, string>> = {
  passed: 'ok',
  failed: 'FAILED',
  'known failure': 'known',
  'passes unexpectedly': 'PASSES',
  'not offered': '-',
  'not possible here': 'NOT RUN',
};

export function isFailure({ outcome }: Attempt): boolean {
  return outcome === 'failed' || outcome === 'passes unexpectedly';
}

/** A table of cases and languages. */
export function table(attempts: readonly Attempt[]): string {
  const languages = [...new Set(attempts.map(({ language }) => language))];
  const ids = [...new Set(attempts.map(({ id }) => id))].sort();
  const width = Math.max(4, ...ids.map(({ length }) => length));
  const row = (first: string, cells: readonly string[]): string =>
    [first.padEnd(width), ...cells.map((cell) => cell.padEnd(10))].join('  ').trimEnd();
  const rows = ids.map((id) => {
    const cells = languages.map((language) => {
      const found = attempts.find((one) => one.id === id && one.language === language);
      return found ? MARKS[found.outcome] : '';
    });
    return row(id, cells);
  });
  return [row('case', languages), ...rows].join('\n');
}

/** Why cases have not run on this machine, a line for each reason. Empty: all have run. */
export function notRun(attempts: readonly Attempt[]): string {
  const missed = attempts.filter(({ outcome }) => outcome === 'not possible here');
  return [...new Set(missed.map(({ problem }) => problem))]
    .map((reason) => {
      const ids = new Set(missed.filter(({ problem }) => problem === reason).map(({ id }) => id));
      return `NOT RUN: ${[...ids].join(', ')}: ${reason}`;
    })
    .join('\n');
}

/** The failures, each with what was said. */
export function failures(attempts: readonly Attempt[], lines: number): string {
  return attempts
    .filter(isFailure)
    .map(({ id, language, problem, transcript }) => {
      const shown = transcript.slice(-lines).map((line) => `    ${shorten(line)}`);
      return [`${language}: ${id}: ${problem}`, ...shown].join('\n');
    })
    .join('\n\n');
}

export function summary(attempts: readonly Attempt[]): string {
  const languages = [...new Set(attempts.map(({ language }) => language))];
  return languages
    .map((language) => {
      const own = attempts.filter((one) => one.language === language);
      const counts = Object.keys(MARKS)
        .map((outcome) => ({ outcome, count: own.filter((one) => one.outcome === outcome).length }))
        .filter(({ count }) => count > 0)
        .map(({ outcome, count }) => `${count} ${outcome}`);
      return `${language}: ${counts.join(', ')}`;
    })
    .join('\n');
}

/** The result of the whole run, in the form of the other suites. A case that a language or this machine cannot have does not count. */
export function total(attempts: readonly Attempt[]): string {
  const failed = attempts.filter(isFailure).length;
  const passed = attempts.filter(({ outcome }) => !outcome.startsWith('not ')).length - failed;
  return `${passed} passed, ${failed} failed`;
}

function shorten(line: string): string {
  return line.length > 600 ? `${line.slice(0, 600)}…` : line;
}
