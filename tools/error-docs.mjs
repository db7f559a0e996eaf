// Writes docs/errors.md from the comments in error_reason.proto and the table in src/rpc/call-errors.ts.
//
//   node tools/error-docs.mjs --write    writes the page (needs a build, because the table is read from dist/)
//   node tools/error-docs.mjs --check    fails if the page is out of date, or if a comment differs from the table

import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const require = createRequire(import.meta.url);
const { status } = require('@grpc/grpc-js');
const { ERROR_TABLE } = require(join(root, 'dist/src/rpc/call-errors.js'));

const page = join(root, 'docs/errors.md');
const proto = join(root, 'proto/holdfast/v1/error_reason.proto');
const labels = ['Code', 'Metadata', 'Retry', 'Client'];
const maxColumns = 100;

const intro = `# Errors

**What does each error mean, and what does a client do about it?**

<!-- Written by tools/error-docs.mjs from error_reason.proto and call-errors.ts. Do not edit. -->
`;

const libraryErrors = `## Errors of the gRPC library

| code                  | when                                                           |
| --------------------- | -------------------------------------------------------------- |
| \`CANCELLED\`           | the client cancelled the call                                  |
| \`DEADLINE_EXCEEDED\`   | the call's deadline expired before the answer                  |
| \`INTERNAL\`            | the request message or its compression cannot be decoded       |
| \`RESOURCE_EXHAUSTED\`  | the request message is too large after its decompression       |
| \`UNAVAILABLE\`         | the connection failed or did not answer, or the server stopped |
| \`UNIMPLEMENTED\`       | the server does not know the method or the compression         |
`;

/** The name and the comment of the enum and of each of its values. */
function comments() {
  const blocks = readFileSync(proto, 'utf8').matchAll(
    /((?:^ *\/\/.*\n)+) *(?:enum (\w+)|ERROR_REASON_(\w+) = \d+;)/gm,
  );
  return [...blocks].map(([, block, enumName, reason]) => ({
    name: enumName ?? reason,
    text: block.replace(/^ *\/\/ ?/gm, '').trimEnd(),
  }));
}

/** Parses the comment of a value: sentences and lists, then a list with one item for each label. */
function parse({ name, text }) {
  const [, when, list] = /^([^]*)\n\n( {2}- Code: [^]*)$/.exec(text) ?? [];
  const items = (list ?? '').split(/^ {2}- /m).slice(1);
  const fields = items.map((item) => item.replace(/\s+/g, ' ').trim());
  labels.forEach((label, index) => {
    if (!fields[index]?.startsWith(`${label}: `)) {
      throw new Error(`the comment of ERROR_REASON_${name} lacks "${label}: …" as item ${index + 1}`);
    }
  });
  const code = fields[0].slice('Code: '.length, -1);
  const row = ERROR_TABLE[name];
  if (row !== undefined && status[row.code] !== code) {
    throw new Error(
      `ERROR_REASON_${name} has code ${code} in its comment, ${status[row.code]} in call-errors.ts`,
    );
  }
  return { name, when, code, fields, row };
}

function section({ name, when, code, fields, row }) {
  const delay = row?.retryAfterMs === undefined ? [] : [`Default delay: ${row.retryAfterMs} ms.`];
  const items = [`Code: \`${code}\``, ...fields.slice(1), ...delay].map((item) => wrapped(item, '- ', '  '));
  return `## ${name}\n\n${paragraphs(when)}\n\n${items.join('\n')}\n`;
}

function wrapped(text, firstIndent = '', indent = '') {
  const lines = [];
  let line = firstIndent;
  for (const word of text.split(' ')) {
    const isStart = line === firstIndent || line === indent;
    if (!isStart && line.length + 1 + word.length > maxColumns) {
      lines.push(line);
      line = indent + word;
    } else {
      line += isStart ? word : ` ${word}`;
    }
  }
  return [...lines, line].join('\n');
}

/** The sentences and lists of a comment, wrapped for the page. */
function paragraphs(text) {
  return text
    .split('\n\n')
    .map((paragraph) =>
      /^ {2}- /.test(paragraph)
        ? paragraph
            .split(/^ {2}- /m)
            .slice(1)
            .map((item) => wrapped(item.replace(/\s+/g, ' ').trim(), '- ', '  '))
            .join('\n')
        : wrapped(paragraph.replace(/\s+/g, ' ')),
    )
    .join('\n\n');
}

/** One row for each code, with links to its reasons. */
function summary(reasons) {
  return [...groupByCode(reasons)]
    .map(([code, of]) =>
      wrapped(
        `\`${code}\`: ${of.map(({ name }) => `[${name}](#${name.toLowerCase()})`).join(', ')}`,
        '- ',
        '  ',
      ),
    )
    .join('\n');
}

function groupByCode(reasons) {
  const groups = new Map();
  for (const reason of reasons) groups.set(reason.code, [...(groups.get(reason.code) ?? []), reason]);
  return groups;
}

function errorPage() {
  const [enumComment, ...values] = comments();
  const reasons = values.filter(({ name }) => name !== 'UNSPECIFIED').map(parse);
  const missing = Object.keys(ERROR_TABLE).filter((name) => !reasons.some((reason) => reason.name === name));
  if (missing.length > 0) throw new Error(`error_reason.proto lacks ${missing.join(', ')}`);
  return [
    intro,
    `${paragraphs(enumComment.text)}\n`,
    `## Reasons by code\n\n${summary(reasons)}\n`,
    libraryErrors,
    ...reasons.map(section),
  ].join('\n');
}

try {
  const text = errorPage();
  if (process.argv.includes('--write')) {
    writeFileSync(page, text);
  } else if (readFileSync(page, 'utf8') !== text) {
    throw new Error('docs/errors.md is out of date; run: npm run build && node tools/error-docs.mjs --write');
  }
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
