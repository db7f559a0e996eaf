/** A line of Redis's log: process id, role, time, level (`#` is a warning), text. */
const LOG_LINE = /^\d+:\w \d+ \w+ \d+ [\d:.]+ ([.\-*#]) (.+)$/;
/** Warnings that Redis writes at every start. */
const USUAL = /^(WARNING |Server initialized|oO0OoO0OoO0Oo|Redis version=|Configuration loaded)/;
const MOST_LINES = 3;
const MOST_CHARS = 300;

/** The last warnings of Redis's log, without the head of each line. Of other output: the last lines. */
export function reasonsOf(output: string): string[] {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  const logged = lines.flatMap((line) => {
    const [, level, text = ''] = LOG_LINE.exec(line) ?? [];
    return level === undefined ? [] : [{ level, text }];
  });
  const warnings = logged.filter(({ level, text }) => level === '#' && !USUAL.test(text));
  const found = logged.length === 0 ? lines : warnings.map(({ text }) => text);
  return found.slice(-MOST_LINES).map((line) => line.slice(0, MOST_CHARS));
}
