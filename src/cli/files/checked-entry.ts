import type { Entry } from '../../../clients/typescript';

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
export function entryOfJson(text: string): Entry {
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
