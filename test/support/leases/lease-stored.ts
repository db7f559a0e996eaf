import type { Resource } from '../../../src/leases/lease';
import { bucketOf } from '../../../src/redis/buckets';
import { namesKeys, leaseKeys } from '../../../src/leases/redis/lease-keys';
import type { State } from './lease-model-request';
import type { RedisProcess } from '../processes/redis-process';

type Commands = Pick<RedisProcess, 'command'>;

/** The hash that replaces Redis's clock for scripts of servers with a frozen clock. */
export const FROZEN_CLOCK = 'test:frozen clock';

/** The keys of a resource apart from its limit (src/leases/scripts/shared/layout.lua). */
export const PARTS = [
  'state',
  'ends',
  'offers',
  'queue',
  'detached',
  'live',
  'past1',
  'past2',
  'revoked',
] as const;
export type Part = (typeof PARTS)[number] | 'limit';

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
  p: 'identity',
  u: 'clientRequestId',
} as const;
type Letter = keyof typeof FIELDS;

const STATES = { W: 'waiting', D: 'detached', O: 'offered', H: 'held', E: 'ended' } as const;

/** A record as text, except for its state. */
export type StoredRecord = Readonly<Partial<Record<Exclude<(typeof FIELDS)[Letter], 'state'>, string>>> & {
  readonly state: State;
};

const SETS = ['ends', 'offers', 'queue', 'detached', 'live'] as const;
type Members = readonly { readonly id: string; readonly score: number }[];

/** The stored data of one resource: the numbers of its head, unpacked records, and members with their times. */
export interface Stored {
  readonly numbers: Readonly<Record<string, string>>;
  readonly records: Readonly<Record<string, StoredRecord>>;
  /** The members of each state, wherever they are. `ended` has the tombstones. */
  readonly sets: Readonly<Record<(typeof SETS)[number] | 'ended', Members>>;
  /** Where members are: the number of leases and tombstones in the head, and of tombstones in the `past` hashes. */
  readonly places: { readonly inline: number; readonly past: number };
  /** The servers with watches, and the time of their last registration (us). */
  readonly watchers: Readonly<Record<string, string>>;
  /** True if the name is in the bucket's index of names. */
  readonly isIndexed: boolean;
}

/** The head in two parts, written again from its description in layout.lua. The second part is stored only if needed. */
const HEAD = {
  format: '<BI4I4I4dddddd',
  names: ['flags', 'limit', 'used', 'ends', 'token', 'ticket', 'seen', 'grace', 'till', 'expires'],
};
const MORE = {
  format: '<BBI4I4I4I4dddddd',
  names: [
    ...[
      'isSpilled',
      'pastNumber',
      'offers',
      'queue',
      'detached',
      'pastCount',
      'graced',
      'cursor',
      'pastSince',
    ],
    ...['endsDue', 'offersDue', 'detachedDue'],
  ],
};
/** The numbers that are NEVER without a second part. */
const NEVER_DUE = ['endsDue', 'offersDue', 'detachedDue'];
/** The numbers of the head that are times of Redis's clock, and move when a test lets time pass. */
const MOVED = ['seen', 'grace', 'graced', 'pastSince', 'endsDue', 'offersDue', 'detachedDue'];

/** Lua functions for the scripts of this file. `read` gets the numbers and the elements of the head, `write` stores both. */
const HEAD_FUNCTIONS = `
local HEAD, MORE = cjson.decode('${JSON.stringify(HEAD)}'), cjson.decode('${JSON.stringify(MORE)}')
local function read(h)
  local numbers, elements, at = {}, {}, 1
  local function part(one)
    local values = { struct.unpack(one.format, h, at) }
    for i, name in ipairs(one.names) do numbers[name] = values[i] end
    at = values[#one.names + 1]
  end
  part(HEAD)
  for _, name in ipairs(MORE.names) do numbers[name] = 0 end
  for _, name in ipairs(cjson.decode('${JSON.stringify(NEVER_DUE)}')) do numbers[name] = 9007199254740991 end
  numbers.isListed = numbers.flags >= 2 and 1 or 0
  if numbers.flags % 2 == 1 then part(MORE) end
  local leases = numbers.isSpilled == 0 and numbers.ends or 0
  while at < #h do
    local time, id, after = struct.unpack('<dBc0', h, at)
    elements[#elements + 1] = { time = time, isLease = #elements < leases, id = id }
    at = after
  end
  return numbers, elements
end
local function write(numbers, elements)
  numbers.flags = 1 + 2 * numbers.isListed
  local parts = {}
  for i, one in ipairs({ HEAD, MORE }) do
    local values = {}
    for j, name in ipairs(one.names) do values[j] = numbers[name] end
    parts[i] = struct.pack(one.format, unpack(values))
  end
  for _, one in ipairs(elements) do parts[#parts + 1] = struct.pack('<dBc0', one.time, #one.id, one.id) end
  redis.call('HSET', KEYS[1], 'h', table.concat(parts))
end`;

/** A script that reads numbers as text, because cjson keeps 14 digits and a time in microseconds has 16 digits. */
const READ = `${HEAD_FUNCTIONS}
local function text(v) return type(v) == 'number' and string.format('%.0f', v) or tostring(v) end
local function unpacked(packed)
  local record = {}
  for k, v in pairs(cmsgpack.unpack(packed)) do record[k] = text(v) end
  return record
end
local records, numbers, sets, past, watchers = {}, {}, { inlineEnds = {}, inlineEnded = {} }, {}, {}
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  if all[i] == 'h' then
    local values, elements = read(all[i + 1])
    for name, v in pairs(values) do numbers[name] = text(v) end
    for _, one in ipairs(elements) do
      local to = one.isLease and sets.inlineEnds or sets.inlineEnded
      to[#to + 1], to[#to + 2] = one.id, text(one.time)
    end
  elseif string.sub(all[i], 1, 1) == 'r' then
    records[string.sub(all[i], 2)] = unpacked(all[i + 1])
  elseif all[i] == 'w' then
    for server, time in pairs(cmsgpack.unpack(all[i + 1])) do watchers[server] = text(time) end
  else
    numbers[all[i]] = all[i + 1]
  end
end
for i, name in ipairs(cjson.decode(ARGV[1])) do sets[name] = redis.call('ZRANGE', KEYS[i + 1], 0, -1, 'WITHSCORES') end
local clock = ARGV[2] ~= '' and redis.call('HMGET', ARGV[2], 's', 'us') or redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
for i = #KEYS - 1, #KEYS do
  local fields = redis.call('HGETALL', KEYS[i])
  for f = 1, #fields, 2 do
    local time, at = struct.unpack('<d', fields[f + 1])
    -- A tombstone that is due counts as forgotten, and goes when its hash expires.
    if time > now then
      past[#past + 1] = { id = fields[f], time = text(time), record = unpacked(string.sub(fields[f + 1], at)) }
    end
  end
end
local isIndexed = redis.call('ZSCORE', ARGV[3], ARGV[4]) ~= false
return cjson.encode({
  records = records, numbers = numbers, sets = sets, past = past, watchers = watchers, isIndexed = isIndexed,
})`;

/** Moves all stored times into the past by ARGV[1] us. Tickets, tokens and the expiry of keys stay. */
const MOVE_TIMES = `${HEAD_FUNCTIONS}
local passed = tonumber(ARGV[1])
local by = string.format('%.0f', -passed)
for i = 2, #KEYS - 2 do
  local members = redis.call('ZRANGE', KEYS[i], 0, -1, 'WITHSCORES')
  for m = 1, #members, 2 do redis.call('ZINCRBY', KEYS[i], by, members[m]) end
end
for i = #KEYS - 1, #KEYS do
  local fields = redis.call('HGETALL', KEYS[i])
  for f = 1, #fields, 2 do
    local time, at = struct.unpack('<d', fields[f + 1])
    redis.call('HSET', KEYS[i], fields[f], struct.pack('<d', time - passed) .. string.sub(fields[f + 1], at))
  end
end
local moving = redis.call('HGET', KEYS[1], 'moving')
if moving then
  moving = cmsgpack.unpack(moving)
  if moving.at then moving.at = moving.at - passed end
  redis.call('HSET', KEYS[1], 'moving', cmsgpack.pack(moving))
end
local watchers = redis.call('HGET', KEYS[1], 'w')
if watchers then
  local moved = {}
  for server, time in pairs(cmsgpack.unpack(watchers)) do moved[server] = time - passed end
  redis.call('HSET', KEYS[1], 'w', cmsgpack.pack(moved))
end
local h = redis.call('HGET', KEYS[1], 'h')
if not h then return end
local numbers, elements = read(h)
for _, name in ipairs(cjson.decode(ARGV[2])) do numbers[name] = numbers[name] - passed end
for _, one in ipairs(elements) do one.time = one.time - passed end
write(numbers, elements)`;

export function keyOf(prefix: string, resource: Resource, part: Part): string {
  const [state] = leaseKeys(prefix, resource);
  return part === 'limit'
    ? state.replace(/^([^}]*\}:s)\d+:state:/, '$1:limit:')
    : state.replace(/^([^}]*\}:[ls]\d+:)state:/, `$1${part}:`);
}

function named(record: Readonly<Record<string, string>>): StoredRecord {
  const fields = Object.entries(record).map(([letter, value]) => {
    const name = FIELDS[letter as Letter];
    if (name === undefined) throw new Error(`a record has the unknown field ${letter}`);
    return [name, letter === 's' ? STATES[value as keyof typeof STATES] : value];
  });
  return Object.fromEntries(fields) as StoredRecord;
}

interface Read {
  readonly records: Record<string, Record<string, string>>;
  readonly numbers: Record<string, string>;
  readonly sets: Record<(typeof SETS)[number] | 'inlineEnds' | 'inlineEnded', string[] | object>;
  readonly watchers: Record<string, string>;
  readonly past: { id: string; time: string; record: Record<string, string> }[] | object;
  readonly isIndexed: boolean;
}

export async function readStored(
  redis: Commands,
  prefix: string,
  resource: Resource,
  isFrozen = false,
): Promise<Stored> {
  const keys = ['state', ...SETS, 'past1', 'past2'].map((part) => keyOf(prefix, resource, part as Part));
  const [names] = namesKeys(prefix, resource.service, bucketOf(resource.name));
  const args = [JSON.stringify(SETS), isFrozen ? FROZEN_CLOCK : '', names, resource.name];
  const text = await redis.command('EVAL', READ, keys.length, ...keys, ...args);
  const { records, numbers, sets, past, watchers, isIndexed } = JSON.parse(text as string) as Read;
  const members = (name: keyof Read['sets']): Members => {
    // cjson writes an empty table as an object.
    const list = Array.isArray(sets[name]) ? sets[name] : [];
    return list.flatMap((id, i) => (i % 2 === 0 ? [{ id, score: Number(list[i + 1]) }] : []));
  };
  const byTime = (list: Members): Members =>
    [...list].sort((a, b) => a.score - b.score || (a.id < b.id ? -1 : 1));
  const buried = Array.isArray(past) ? past : [];
  const [inlineEnds, inlineEnded] = [members('inlineEnds'), members('inlineEnded')];
  return {
    numbers: shown(numbers),
    records: Object.fromEntries(
      [
        ...Object.entries(records).map(([id, record]) => [id, named(record)] as const),
        ...buried.map(({ id, record }) => [id, named(record)] as const),
      ].sort(([a], [b]) => (a < b ? -1 : 1)),
    ),
    sets: {
      ends: byTime([...inlineEnds, ...members('ends')]),
      offers: members('offers'),
      queue: members('queue'),
      detached: members('detached'),
      ended: byTime([...inlineEnded, ...buried.map(({ id, time }) => ({ id, score: Number(time) }))]),
      live: members('live'),
    },
    places: { inline: inlineEnds.length + inlineEnded.length, past: buried.length },
    watchers,
    isIndexed,
  };
}

/** The stored limit is one more than the limit, and 0 for an unknown resource. */
function shown({ limit, ...numbers }: Record<string, string>): Record<string, string> {
  return limit === undefined || limit === '0' ? numbers : { ...numbers, limit: String(Number(limit) - 1) };
}

/** Lets time pass without a script on the resource. A negative time sets Redis's clock back. */
export async function moveTimes(
  redis: Commands,
  prefix: string,
  resource: Resource,
  ms: number,
): Promise<void> {
  const parts: Part[] = ['state', 'ends', 'offers', 'detached', 'live', 'past1', 'past2'];
  const keys = parts.map((part) => keyOf(prefix, resource, part));
  await redis.command('EVAL', MOVE_TIMES, keys.length, ...keys, Math.round(ms * 1000), JSON.stringify(MOVED));
}

/** Sets numbers of the head. */
export async function setNumbers(
  redis: Commands,
  prefix: string,
  resource: Resource,
  numbers: Readonly<Record<string, number>>,
): Promise<void> {
  const script = `${HEAD_FUNCTIONS}
    local h = redis.call('HGET', KEYS[1], 'h')
    if not h then return end
    local numbers, elements = read(h)
    for name, value in pairs(cjson.decode(ARGV[1])) do numbers[name] = tonumber(value) end
    write(numbers, elements)`;
  const texts = Object.entries(numbers).map(([name, value]) => [
    name,
    String(name === 'limit' ? value + 1 : value),
  ]);
  const json = JSON.stringify(Object.fromEntries(texts));
  await redis.command('EVAL', script, 1, keyOf(prefix, resource, 'state'), json);
}

export interface StoredEnds {
  /** Redis's time at the moment of the reading. */
  readonly redisTimeUs: number;
  /** The end of each lease (us), by request id. */
  readonly ends: ReadonlyMap<string, number>;
}

/** The ends of all leases of a resource. Undefined: the reply is not complete. */
export function readEnds(
  redis: Commands,
  prefix: string,
  resource: Resource,
): Promise<StoredEnds | undefined> {
  return readEndsAt(redis, keyOf(prefix, resource, 'state'));
}

/** As `readEnds`, for the resource with this state key. */
export async function readEndsAt(redis: Commands, stateKey: string): Promise<StoredEnds | undefined> {
  const script = `${HEAD_FUNCTIONS}
    local time, ends = redis.call('TIME'), redis.call('ZRANGE', KEYS[2], '0', '-1', 'WITHSCORES')
    local h = redis.call('HGET', KEYS[1], 'h')
    local _, elements = {}, {}
    if h then _, elements = read(h) end
    for _, one in ipairs(elements) do
      if one.isLease then ends[#ends + 1], ends[#ends + 2] = one.id, string.format('%.0f', one.time) end
    end
    return { time[1] * 1000000 + time[2], ends }`;
  // A name may contain ':state:' too, but follows this part.
  const reply = await redis.command('EVAL', script, 2, stateKey, stateKey.replace(':state:', ':ends:'));
  if (!Array.isArray(reply)) return undefined;
  const [time, pairs] = reply as [string, string[]];
  const ends = new Map<string, number>();
  for (let i = 0; i < pairs.length; i += 2) ends.set(pairs[i] ?? '', Number(pairs[i + 1]));
  return { redisTimeUs: Number(time), ends };
}

/** The id of the member that `addGhost` adds. The head has room only for ids of this length. */
export const GHOST_ID = '00000000-0000-4000-8000-000000000000';

/** Adds a member without a record, as a manual edit of Redis may leave behind. */
export async function addGhost(
  redis: Commands,
  prefix: string,
  resource: Resource,
  part: 'ends' | 'offers' | 'queue' | 'detached',
  score: number | string,
): Promise<void> {
  const script = `${HEAD_FUNCTIONS}
    local numbers, elements = read(redis.call('HGET', KEYS[1], 'h'))
    local part, time = ARGV[1], ARGV[2] == '+inf' and math.huge or tonumber(ARGV[2])
    numbers[part] = numbers[part] + 1
    if part == 'ends' and numbers.isSpilled == 0 then
      table.insert(elements, 1, { time = time, id = '${GHOST_ID}' })
    else
      redis.call('ZADD', KEYS[2], ARGV[2], '${GHOST_ID}')
    end
    local bound = part .. 'Due'
    if numbers[bound] then numbers[bound] = math.min(numbers[bound], time) end
    write(numbers, elements)`;
  const keys = [keyOf(prefix, resource, 'state'), keyOf(prefix, resource, part)];
  await redis.command('EVAL', script, keys.length, ...keys, part, score);
}

/** Sets the end of a lease (us). */
export async function setEnd(
  redis: Commands,
  prefix: string,
  resource: Resource,
  requestId: string,
  end: string,
): Promise<void> {
  const script = `${HEAD_FUNCTIONS}
    local numbers, elements = read(redis.call('HGET', KEYS[1], 'h'))
    for _, one in ipairs(elements) do
      if one.id == ARGV[1] then one.time = ARGV[2] == '+inf' and math.huge or tonumber(ARGV[2]) end
    end
    write(numbers, elements)
    redis.call('ZADD', KEYS[2], 'XX', ARGV[2], ARGV[1])`;
  const keys = [keyOf(prefix, resource, 'state'), keyOf(prefix, resource, 'ends')];
  await redis.command('EVAL', script, keys.length, ...keys, requestId, end);
}
