import { readFileSync, writeFileSync } from 'node:fs';
import type { Option } from '../src/server/config/values';
import { options } from '../src/server/config/options';

/**
 * Writes docs/configuration.md from the option list of the server.
 *
 *     node dist/tools/configuration-docs.js --write    writes the page
 *     node dist/tools/configuration-docs.js --check    fails if the page is out of date
 */

const PAGE = 'docs/configuration.md';
const MAX_WIDTH = 100;

const HEAD = `# Configuration

**Which settings does the server have, and what does each of them do?**

<!-- Written by tools/configuration-docs.ts from src/server/config/options.ts. Do not edit. -->

${wrapped(
  'The server reads its settings from environment variables. An empty variable counts as not set. ' +
    'The server does not start with an unknown variable that begins with HOLDFAST_ or with an invalid value; ' +
    'the error message names every problem.',
)}

${wrapped(
  'A duration is a whole number with a unit: `500ms` (milliseconds), `30s` (seconds), `2m` (minutes), ' +
    '`1h` (hours), `7d` (days).',
)}
`;

export function configurationPage(): string {
  const sections = Object.values(options as Record<string, Option<unknown>>).map(section);
  return [HEAD, ...sections].join('\n');
}

function section(option: Option<unknown>): string {
  const { name, default: preset, required, format, range, example, about } = option;
  const rows = [
    `Value: ${format}`,
    ...(range === undefined ? [] : [`Range: ${range}`]),
    `Default: ${preset === undefined ? (required ? 'none; the variable is required' : 'none') : `\`${preset}\``}`,
    `Example: \`${name}=${example}\``,
  ];
  return `## ${name}\n\n${wrapped(about)}\n\n${rows.map((row) => wrapped(row, '- ', '  ')).join('\n')}\n`;
}

/** Breaks the text between words into lines of at most MAX_WIDTH columns. */
export function wrapped(text: string, firstIndent = '', indent = ''): string {
  const lines: string[] = [];
  let line = firstIndent;
  for (const word of text.split(' ')) {
    const isStart = line === firstIndent || line === indent;
    if (!isStart && line.length + 1 + word.length > MAX_WIDTH) {
      lines.push(line);
      line = indent + word;
    } else {
      line += isStart ? word : ` ${word}`;
    }
  }
  return [...lines, line].join('\n');
}

function main(mode: string | undefined): void {
  if (mode === '--write') return writeFileSync(PAGE, configurationPage());
  if (mode !== '--check') return fail('usage: configuration-docs.js --check or --write');
  if (readFileSync(PAGE, 'utf8') !== configurationPage()) {
    fail(`${PAGE} is out of date: run "node dist/tools/configuration-docs.js --write"`);
  }
}

function fail(problem: string): void {
  console.error(problem);
  process.exitCode = 1;
}

if (require.main === module) main(process.argv[2]);
