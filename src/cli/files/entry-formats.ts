import type { Entry } from '../../../clients/typescript';
import { UsageError } from '../terminal';
import { type Bytes, csvRecords, linesOf, type TextRecord } from './records';

/** The bounds of Entry in autocomplete_service.proto. */
const MAX_BYTES = 512;
const MAX_ALIASES = 16;
const MAX_PAYLOAD = 1024;
const MAX_WEIGHT = 2n ** 52n;
const FORBIDDEN = /[\p{Cc}\p{Cs}\ufffd]/u;

const KEYS = ['entryId', 'text', 'aliases', 'weight', 'payload'];

/** The text names the field and the bound, but not the line, which the caller knows. */
export class EntryProblem extends Error {}

/** An entry in the JSON form of protobuf, also as `complete entries` prints it. Throws an EntryProblem. */
function entryOfJson(text: string): Entry {
  const value = objectOf(text);
  // ListedEntry: the entry with its selections, which no import takes.
  const given = 'entry' in value ? value['entry'] : value;
  return checkedEntry(isObject(given) ? given : fail('"entry" must be an object'));
}

export function objectOf(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    fail(`is no JSON: ${(error as Error).message}`);
  }
  return isObject(value) ? value : fail('must be a JSON object');
}

/** Checks all bounds that need no folding. Throws an EntryProblem. */
export function checkedEntry(given: Record<string, unknown>): Entry {
  const { entry_id: snakeId, ...others } = given;
  const value = snakeId === undefined ? others : { ...others, entryId: snakeId };
  for (const key of Object.keys(value)) if (!KEYS.includes(key)) fail(`"${key}" is no field of an entry`);
  const aliases = value['aliases'] ?? [];
  if (!Array.isArray(aliases)) fail('"aliases" must be a list of texts');
  if (aliases.length > MAX_ALIASES) fail(`"aliases" has ${aliases.length} texts, more than ${MAX_ALIASES}`);
  return {
    id: boundedText(value['entryId'], 'entryId'),
    text: boundedText(value['text'], 'text'),
    aliases: aliases.map((alias, i) => boundedText(alias, `aliases[${i}]`)),
    weight: weightOf(value['weight']),
    payload: payloadOf(value['payload']),
  };
}

function boundedText(value: unknown, key: string): string {
  if (typeof value !== 'string' || value === '') fail(`"${key}" must be a text that is not empty`);
  const bytes = Buffer.byteLength(value);
  if (bytes > MAX_BYTES) fail(`"${key}" has ${bytes} bytes, more than ${MAX_BYTES}`);
  if (FORBIDDEN.test(value)) fail(`"${key}" has a control character, half a surrogate pair or U+FFFD`);
  return value;
}

function weightOf(value: unknown): bigint {
  const digits = typeof value === 'number' ? String(value) : (value ?? '0');
  if (typeof digits !== 'string' || !/^\d{1,16}$/.test(digits) || BigInt(digits) > MAX_WEIGHT) {
    fail(`"weight" must be a whole number from 0 to ${MAX_WEIGHT}`);
  }
  return BigInt(digits);
}

function payloadOf(value: unknown): Uint8Array {
  if (value !== undefined && typeof value !== 'string') fail('"payload" must be a text in base64');
  const text = value ?? '';
  if (!/^[\w+/-]*={0,2}$/.test(text)) fail('"payload" is no base64');
  const payload = Buffer.from(text, 'base64');
  if (payload.length > MAX_PAYLOAD) fail(`"payload" has ${payload.length} bytes, more than ${MAX_PAYLOAD}`);
  return payload;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function fail(problem: string): never {
  throw new EntryProblem(problem);
}

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
