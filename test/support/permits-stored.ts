import type { Resource } from '../../src/engine/leases/lease';
import { permitsKeys } from '../../src/redis/keys';
import type { State } from './permits-model-request';
import type { RedisProcess } from './processes/redis-process';

export const PARTS = ['state', 'ends', 'offers', 'queue', 'detached', 'ended', 'live'] as const;
export type Part = (typeof PARTS)[number];

/** The fields of a record, by their stored letters. Servers of several versions share this layout. */
const FIELDS = {
  s: 'state',
  a: 'attach',
  k: 'secret',
  n: 'permits',
  x: 'mode',
  h: 'holderId',
  m: 'metadata',
  l: 'ttl',
  t: 'ticket',
  f: 'fencingToken',
  g: 'grantedAt',
  q: 'queuedAt',
  o: 'answered',
  w: 'returnable',
  c: 'cause',
  v: 'revoked',
  e: 'extended',
} as const;
type Letter = keyof typeof FIELDS;

const STATES = { W: 'waiting', D: 'detached', O: 'offered', H: 'held', E: 'ended' } as const;

/** A record as text, except for its state. */
export type StoredRecord = Readonly<Partial<Record<Exclude<(typeof FIELDS)[Letter], 'state'>, string>>> & {
  readonly state: State;
};

/** The stored data of one resource: unpacked records, and members with their scores. */
export interface Stored {
  readonly numbers: Readonly<Record<string, string>>;
  readonly records: Readonly<Record<string, StoredRecord>>;
  readonly sets: Readonly<Record<Exclude<Part, 'state'>, readonly { id: string; score: number }[]>>;
}

/** A script that reads numbers as text, because cjson keeps 14 digits and a time in microseconds has 16 digits. */
const READ = `
local fields, sets = {}, {}
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  if string.sub(all[i], 1, 1) == 'r' then
    local record = {}
    for k, v in pairs(cmsgpack.unpack(all[i + 1])) do
      record[k] = type(v) == 'number' and string.format('%.0f', v) or tostring(v)
    end
    fields[all[i]] = record
  else
    fields[all[i]] = all[i + 1]
  end
end
for i = 2, #KEYS do sets[i - 1] = redis.call('ZRANGE', KEYS[i], 0, -1, 'WITHSCORES') end
return cjson.encode({ fields, sets })`;

/** Moves all stored times into the past by ARGV[1] us. Tickets, tokens and the expiry of keys stay. */
const MOVE_TIMES = `
local by = string.format('%.0f', -tonumber(ARGV[1]))
for i = 2, #KEYS do
  local members = redis.call('ZRANGE', KEYS[i], 0, -1, 'WITHSCORES')
  for m = 1, #members, 2 do redis.call('ZINCRBY', KEYS[i], by, members[m]) end
end
local moving = redis.call('HGET', KEYS[1], 'moving')
if moving then
  moving = cmsgpack.unpack(moving)
  if moving.at then moving.at = moving.at - tonumber(ARGV[1]) end
  redis.call('HSET', KEYS[1], 'moving', cmsgpack.pack(moving))
end
for _, field in ipairs({ 'seen', 'grace', 'graced', 'offers', 'detached', 'ended' }) do
  if redis.call('HEXISTS', KEYS[1], field) == 1 then redis.call('HINCRBY', KEYS[1], field, by) end
end`;

export function keyOf(prefix: string, resource: Resource, part: Part): string {
  return permitsKeys(prefix, resource)[PARTS.indexOf(part)] as string;
}

function named(record: Readonly<Record<string, string>>): StoredRecord {
  const fields = Object.entries(record).map(([letter, value]) => {
    const name = FIELDS[letter as Letter];
    if (name === undefined) throw new Error(`a record has the unknown field ${letter}`);
    return [name, letter === 's' ? STATES[value as keyof typeof STATES] : value];
  });
  return Object.fromEntries(fields) as StoredRecord;
}

export async function readStored(redis: RedisProcess, prefix: string, resource: Resource): Promise<Stored> {
  const keys = PARTS.map((part) => keyOf(prefix, resource, part));
  const text = (await redis.command('EVAL', READ, keys.length, ...keys)) as string;
  const [fields, flat] = JSON.parse(text) as [Record<string, string | Record<string, string>>, string[][]];
  const numbers: Record<string, string> = {};
  const records: Record<string, StoredRecord> = {};
  for (const [field, value] of Object.entries(fields)) {
    if (typeof value === 'string') numbers[field] = value;
    else records[field.slice(1)] = named(value);
  }
  const members = (part: Part) => {
    const list = Array.from(flat[PARTS.indexOf(part) - 1] ?? []);
    return list.flatMap((id, i) => (i % 2 === 0 ? [{ id, score: Number(list[i + 1]) }] : []));
  };
  const [ends, offers, queue] = [members('ends'), members('offers'), members('queue')];
  const [detached, ended, live] = [members('detached'), members('ended'), members('live')];
  return { numbers, records, sets: { ends, offers, queue, detached, ended, live } };
}

/** Lets time pass without a script on the resource. A negative time sets Redis's clock back. */
export async function moveTimes(
  redis: RedisProcess,
  prefix: string,
  resource: Resource,
  ms: number,
): Promise<void> {
  const keys = PARTS.filter((part) => part !== 'queue').map((part) => keyOf(prefix, resource, part));
  await redis.command('EVAL', MOVE_TIMES, keys.length, ...keys, Math.round(ms * 1000));
}
