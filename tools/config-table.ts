import { readFileSync, writeFileSync } from 'node:fs';
import { options, type Option } from '../src/config/options';

/**
 * The README's table of settings, made from the list that the parser uses. Run by itself it prints the table;
 * with `--check` it fails when README.md in this folder has another one, with `--write` it puts it there.
 */

const START = '<!-- config:start -->';
const END = '<!-- config:end -->';
const HEAD = ['Variable', 'Default', 'Accepts', 'What it is for'];

/** Aligned, as Prettier would have it. */
export function configTable(): string {
  const rows = Object.values(options as Record<string, Option<unknown>>).map(row);
  const widths = HEAD.map((title, column) =>
    Math.max(title.length, ...rows.map((cells) => (cells[column] ?? '').length)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const rule = widths.map((width) => '-'.repeat(width));
  return [HEAD, rule, ...rows].map(line).join('\n');
}

function row(option: Option<unknown>): string[] {
  const { name, default: usual, required, accepts, about } = option;
  const shown = usual === undefined ? (required ? 'required' : 'none') : `\`${usual}\``;
  return [`\`${name}\``, shown, accepts, about].map((cell) => cell.replaceAll('|', '\\|'));
}

/** The document with the table between its two marks; undefined if it has no such marks. */
export function withConfigTable(document: string): string | undefined {
  const start = document.indexOf(START);
  const end = document.indexOf(END, start);
  if (start < 0 || end < 0) return undefined;
  return `${document.slice(0, start + START.length)}\n\n${configTable()}\n\n${document.slice(end)}`;
}

function main(mode: string | undefined): void {
  if (mode === undefined) {
    console.log(configTable());
    return;
  }
  const before = readFileSync('README.md', 'utf8');
  const after = withConfigTable(before);
  if (after === undefined) fail(`README.md lacks the lines ${START} and ${END}`);
  else if (mode === '--write') writeFileSync('README.md', after);
  else if (mode !== '--check') fail(`unknown option ${mode}: --check or --write`);
  else if (after !== before) fail('README.md has another table of settings: run this with --write');
}

function fail(problem: string): void {
  console.error(problem);
  process.exitCode = 1;
}

if (require.main === module) main(process.argv[2]);
