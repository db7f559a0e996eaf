import { Redis } from 'ioredis';
import { dictionaryKey } from '../../src/redis/keys';
import { orderCode, recordsOf, type KeptEntry } from './dictionary-records';

/** Redis stores sorted sets up to this size in packed form. Parts are split earlier. */
const PART_SIZE = 128;
/** The number of bytes of a record after the number of its entry, by kind of record. Other kinds have three bytes. */
const TAILS: Readonly<Record<string, number>> = { a: 0, w: 0, p: 1 };

/** A Lua script that reads a dictionary in one step: its meta key, its jobs, and each key with its content. */
const READ = `
local head_end = string.find(KEYS[1], '}:d:meta:', 1, true)
local head, name = string.sub(KEYS[1], 1, head_end + 3), string.sub(KEYS[1], head_end + 9)
local jobs, found = {}, {}
local packed = redis.call('HGET', KEYS[1], 'jobs')
for i, job in ipairs(packed and cmsgpack.unpack(packed) or {}) do jobs[i] = { job[1], job[3] or '', job[5] or '' } end
for _, key in ipairs(redis.call('KEYS', string.sub(head, 1, -4) .. ':d:*')) do
  local part, generation, rest = string.match(string.sub(key, #head + 1), '^(%l+):(%d+):(.*)$')
  if part and (rest == name or string.sub(rest, 1, #name + 1) == name .. '\\0') then
    local sorted = part == 'parts' or part == 'part'
    local content = sorted and redis.call('ZRANGE', key, 0, -1) or redis.call('HGETALL', key)
    if part == 'entries' then
      for i = 2, #content, 2 do
        local value = content[i]
        local from = 10 - string.byte(value)
        local to = string.find(value, '\\4', from, true)
        local rest = cmsgpack.unpack(string.sub(value, to + 1))
        local code, forms = string.sub(value, 1, from - 1), string.sub(value, from, to - 1)
        content[i] = { code, forms, rest[3], string.format('%.0f', rest[1] + rest[2]) }
      end
    end
    found[#found + 1] = { part, generation, string.sub(rest, #name + 2), content }
  end
end
return { redis.call('HGETALL', KEYS[1]), jobs, found }`;

export interface CheckOptions {
  /** Allows unfinished changes and garbage, which are violations otherwise. */
  readonly unfinished?: boolean;
}

type Bytes = string | readonly Bytes[];
type Hash = ReadonlyMap<string, Bytes>;

interface Generation {
  readonly name: string;
  readonly building: boolean;
  readonly entries: Hash;
  readonly ids: Hash;
  readonly state: Hash;
  readonly pins: Hash;
  readonly separators: readonly string[];
  readonly parts: ReadonlyMap<string, readonly string[]>;
}

/** Finds inconsistencies between the keys of a dictionary in Redis. A deleted dictionary must have no key. */
export async function checkDictionary(
  { url, prefix, name }: { url: string; prefix: string; name: string },
  { unfinished = false }: CheckOptions = {},
): Promise<string[]> {
  const client = new Redis(url, { maxRetriesPerRequest: 3 });
  client.on('error', () => undefined);
  let read: Bytes;
  try {
    read = asBytes(await client.callBuffer('EVAL', READ, '1', dictionaryKey(prefix, name)));
  } finally {
    client.disconnect();
  }
  return violations(read as [Bytes, Bytes, Bytes], unfinished);
}

function violations(
  [rawMeta, rawJobs, rawKeys]: readonly [Bytes, Bytes, Bytes],
  unfinished: boolean,
): string[] {
  const broken: string[] = [];
  const meta = asHash(rawMeta);
  const jobs = rawJobs as readonly (readonly [string, string, string])[];
  const keys = rawKeys as readonly (readonly [string, string, string, Bytes])[];
  const typos = String(meta.get('profile') ?? '')[1] === 't';
  const named = new Map<string, 'live' | 'build' | 'garbage'>();
  for (const [field, value] of meta) {
    if (field === 'live') named.set(String(value), 'live');
    if (field.startsWith('build:')) named.set(String(value), 'build');
    if (field.startsWith('garbage:')) named.set(field.slice('garbage:'.length), 'garbage');
  }
  if (!unfinished) {
    for (const [generation, number] of jobs)
      broken.push(`a change of ${shown(number)} in ${generation} is pending`);
    for (const [generation, role] of named)
      if (role === 'garbage') broken.push(`${generation} is garbage that was left`);
  }
  for (const [part, generation, separator] of keys) {
    if (!named.has(generation))
      broken.push(`${part} ${shown(separator)} is of ${generation}, which nobody names`);
  }
  for (const [generation, role] of named) {
    if (role === 'garbage') continue;
    const own = keys.filter(([, of]) => of === generation);
    const one = (part: string) => own.find(([kind]) => kind === part)?.[3] ?? [];
    const parts = own.filter(([kind]) => kind === 'part');
    const changing = jobs.filter(([of]) => of === generation).flatMap(([, before, after]) => [before, after]);
    broken.push(
      ...violationsOf(
        {
          name: `${role} ${generation}`,
          building: role === 'build',
          entries: asHash(one('entries')),
          ids: asHash(one('ids')),
          state: asHash(one('state')),
          pins: asHash(one('pins')),
          separators: one('parts') as readonly string[],
          parts: new Map(parts.map(([, , separator, records]) => [separator, records as readonly string[]])),
        },
        typos,
        new Set(changing),
      ),
    );
  }
  return broken;
}

/** `changing` has the numbers of entries with an unfinished change, which may lack records. */
function violationsOf(generation: Generation, typos: boolean, changing: ReadonlySet<string>): string[] {
  const entries = [...generation.entries].map(([number, value]) => keptEntry(number, value));
  const broken = [
    ...brokenEntries(generation, entries),
    ...brokenParts(generation),
    ...brokenRecords(generation, entries, typos, changing),
  ];
  return broken.map((what) => `${generation.name}: ${what}`);
}

function* brokenEntries(
  { building, ids, state, pins }: Generation,
  entries: readonly KeptEntry[],
): Generator<string> {
  const count = Number(state.get('count') ?? 0);
  if (count !== entries.length) yield `the count is ${count}, the entries are ${entries.length}`;
  if (ids.size !== entries.length) yield `the ids are ${ids.size}, the entries are ${entries.length}`;
  const next = Number(state.get('next') ?? 0);
  for (const { id, number, code, score } of entries) {
    if (ids.get(id) !== number)
      yield `${shown(id)} is number ${shown(number)}, but its id leads to ${shown(ids.get(id))}`;
    const value = Buffer.from(number, 'latin1').readUIntBE(0, 5);
    if (number.length !== 5 || value > next)
      yield `the number ${shown(number)} was not given out: next is ${next}`;
    if (code !== orderCode(score)) yield `${shown(id)} of score ${score} has the order code ${shown(code)}`;
  }
  if (!building && pins.size > 0) yield `${pins.size} ids are pinned, and nothing is being built`;
}

function* brokenParts({ separators, parts }: Generation): Generator<string> {
  const known = new Set(separators);
  for (const separator of parts.keys())
    if (!known.has(separator)) yield `the part ${shown(separator)} is not in parts`;
  if (separators.length > 0 && separators[0] !== '') yield `the first part begins at ${shown(separators[0])}`;
  for (const [i, separator] of separators.entries()) {
    const records = parts.get(separator) ?? [];
    const end = separators[i + 1];
    if (records.length > PART_SIZE) yield `the part ${shown(separator)} has ${records.length} records`;
    if (records.length === 0 && separator !== '') yield `the part ${shown(separator)} is empty`;
    for (const record of records) {
      if (record < separator || (end !== undefined && record >= end)) {
        yield `the record ${shown(record)} is in the part from ${shown(separator)} to ${shown(end)}`;
      }
    }
  }
}

function* brokenRecords(
  { parts }: Generation,
  entries: readonly KeptEntry[],
  typos: boolean,
  changing: ReadonlySet<string>,
): Generator<string> {
  const wanted = new Map<string, Set<string>>();
  for (const entry of entries) wanted.set(entry.number, recordsOf(entry, typos));
  for (const records of parts.values()) {
    for (const record of records) {
      const end = record.length - (TAILS[record.charAt(0)] ?? 3);
      const number = record.slice(end - 5, end);
      // The found record is removed, so that a duplicate record is a violation.
      if (!wanted.get(number)?.delete(record) && !changing.has(number)) {
        yield `the record ${shown(record)} is there twice, or no entry has it`;
      }
    }
  }
  for (const { number, id } of entries) {
    if (changing.has(number)) continue;
    for (const record of wanted.get(number) ?? []) yield `${shown(id)} lacks the record ${shown(record)}`;
  }
}

function keptEntry(number: string, value: Bytes): KeptEntry {
  const [code, forms, id, score] = value as readonly [string, string, string, string];
  return { number, code, forms, id, score: Number(score) };
}

function asHash(flat: Bytes): Hash {
  const list = flat as readonly Bytes[];
  return new Map(
    list.flatMap((field, i) => (i % 2 === 0 ? [[String(field), list[i + 1] ?? ''] as const] : [])),
  );
}

function asBytes(reply: unknown): Bytes {
  if (Array.isArray(reply)) return reply.map(asBytes);
  return Buffer.isBuffer(reply) ? reply.toString('latin1') : String(reply);
}

/** Bytes in readable form. Bytes that are not text are shown as numbers. */
function shown(bytes: Bytes | undefined): string {
  if (typeof bytes !== 'string') return 'nothing';
  return JSON.stringify(Buffer.from(bytes, 'latin1').toString());
}
