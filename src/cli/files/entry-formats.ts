import type { Entry } from '../../../clients/typescript';
import { UsageError } from '../exit-codes';
import { checkedEntry, EntryProblem, entryOfJson } from './checked-entry';
import { linesOf, type Bytes } from './lines';
import { csvRecords, type TextRecord } from './records';

export const ENTRY_FORMATS = ['jsonl', 'csv', 'tsv', 'text'] as const;
export type EntryFormat = (typeof ENTRY_FORMATS)[number];

const ENDINGS: ReadonlyMap<string, EntryFormat> = new Map([
  ['jsonl', 'jsonl'],
  ['ndjson', 'jsonl'],
  ['csv', 'csv'],
  ['tsv', 'tsv'],
  ['txt', 'text'],
]);

/** The format that the ending of a file name says. Throws a UsageError for other names. */
export function formatOfName(name: string): EntryFormat {
  const format = ENDINGS.get(/\.([^./]+)$/.exec(name)?.[1]?.toLowerCase() ?? '');
  if (format === undefined) {
    throw new UsageError(
      `the name ${name} does not say the format: give --format ${ENTRY_FORMATS.join('|')}`,
    );
  }
  return format;
}

/**
 * The entries of a file, read as fast as they are taken. A problem rejects with a UsageError that names the line.
 *
 * @param name the name of the file in errors
 */
export function entriesOf(
  input: Bytes,
  format: EntryFormat,
  name: string,
): AsyncGenerator<Entry, void, undefined> {
  switch (format) {
    case 'jsonl':
      return entriesOfLines(input, name, entryOfJson);
    case 'text':
      // The text is also the id, so the same text twice is one entry.
      return entriesOfLines(input, name, (text) => checkedEntry({ entryId: text, text }));
    case 'csv':
      return entriesOfRecords(csvRecords(input, name), name);
    case 'tsv':
      return entriesOfRecords(tsvRecords(input, name), name);
  }
}

async function* entriesOfLines(
  input: Bytes,
  name: string,
  read: (text: string) => Entry,
): AsyncGenerator<Entry, void, undefined> {
  for await (const { number, text } of linesOf(input, name)) {
    if (text !== '') yield atLine(number, name, () => read(text));
  }
}

async function* tsvRecords(input: Bytes, name: string): AsyncGenerator<TextRecord, void, undefined> {
  for await (const { number, text } of linesOf(input, name)) {
    if (text !== '') yield { line: number, fields: text.split('\t') };
  }
}

/** The names of columns. */
const COLUMNS: ReadonlyMap<string, string> = new Map([
  ['id', 'entryId'],
  ['entry_id', 'entryId'],
  ['entryid', 'entryId'],
  ['text', 'text'],
  ['aliases', 'aliases'],
  ['weight', 'weight'],
  ['payload', 'payload'],
]);

async function* entriesOfRecords(
  records: AsyncIterable<TextRecord>,
  name: string,
): AsyncGenerator<Entry, void, undefined> {
  let keys: readonly string[] | undefined;
  for await (const { line, fields } of records) {
    if (keys === undefined) keys = atLine(line, name, () => keysOf(fields));
    else yield atLine(line, name, () => entryOfFields(keys ?? [], fields));
  }
}

function keysOf(titles: readonly string[]): string[] {
  const keys = titles.map((title) => {
    const key = COLUMNS.get(title.trim().toLowerCase());
    if (key === undefined) {
      throw new EntryProblem(
        `has the column "${title}"; a header names the columns id, text, aliases, weight and payload`,
      );
    }
    return key;
  });
  if (!keys.includes('text')) throw new EntryProblem('must be a header with the column "text"');
  if (new Set(keys).size < keys.length) throw new EntryProblem('names a column twice');
  return keys;
}

function entryOfFields(keys: readonly string[], fields: readonly string[]): Entry {
  if (fields.length !== keys.length) {
    throw new EntryProblem(`has ${fields.length} fields, but the header has ${keys.length}`);
  }
  const given: Record<string, unknown> = {};
  keys.forEach((key, i) => {
    const field = fields[i] ?? '';
    if (field !== '') given[key] = key === 'aliases' ? field.split('|') : field;
  });
  return checkedEntry({ entryId: given['text'], ...given });
}

export function atLine<T>(line: number, name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof EntryProblem)) throw error;
    throw new UsageError(`line ${line} of ${name}: ${error.message}`);
  }
}
