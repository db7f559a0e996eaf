import { readFileSync, writeFileSync } from 'node:fs';
import type { Attempt } from './attempt';

const BEGIN = '<!-- The run writes the table: npm run test:clients -- --write-table -->';
const END = '<!-- The end of the table. -->';

/** A Markdown table of case groups and languages: passed cases of all cases, without those that a language cannot have. */
export function groupTable(attempts: readonly Attempt[]): string {
  const languages = [...new Set(attempts.map(({ language }) => language))];
  const groups = [...new Set(attempts.map(groupOf))].sort();
  const rows = groups.map((group) => [
    `\`${group}\``,
    ...languages.map((language) =>
      cell(attempts.filter((one) => groupOf(one) === group && one.language === language)),
    ),
  ]);
  const sums = languages.map((language) => cell(attempts.filter((one) => one.language === language)));
  return markdown([['cases', ...languages], ...rows, ['all', ...sums]]);
}

/** Replaces the table between the two marks of the document. Throws if the document has no marks. */
export function writeTable(file: string, attempts: readonly Attempt[]): void {
  const text = readFileSync(file, 'utf8');
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`${file} has no marks of the table`);
  const head = text.slice(0, begin + BEGIN.length);
  writeFileSync(file, `${head}\n\n${groupTable(attempts)}\n\n${text.slice(end)}`);
}

/** The folder of the case. */
function groupOf({ id }: Attempt): string {
  return id.split('/')[0] ?? id;
}

function cell(attempts: readonly Attempt[]): string {
  const offered = attempts.filter(({ outcome }) => outcome !== 'not offered');
  if (offered.length === 0) return '-';
  const passed = offered.filter(({ outcome }) => outcome === 'passed').length;
  return `${passed} of ${offered.length}`;
}

function markdown([head = [], ...rows]: readonly (readonly string[])[]): string {
  const widths = head.map((_, column) =>
    Math.max(...[head, ...rows].map((row) => (row[column] ?? '').length)),
  );
  const line = (row: readonly string[]): string =>
    `| ${row.map((text, column) => text.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [line(head), rule, ...rows.map(line)].join('\n');
}
