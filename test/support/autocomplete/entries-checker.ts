import { createHash } from 'node:crypto';
import { Redis } from 'ioredis';
import { PackReader, type Unpacked } from '../../../src/autocomplete/redis/packing';
import { entriesKey } from '../../../src/autocomplete/redis/entry-keys';

const MAX_KEY_BYTES = 1024 * 1024;
const MAX_FEED_BYTES = 4 * 1024 * 1024;
/** The last write of a feed may add this much: a put of 4 MiB. */
const LAST_WRITE_BYTES = 5 * 1024 * 1024;
/** What the feed counts for an element beside its bytes. */
const ELEMENT_BYTES = 100;
const SELECTIONS = '\u0001';

interface Dump {
  readonly meta: Map<string, string>;
  readonly keys: readonly string[];
}

export interface CheckOptions {
  /** Allows a put that is not in the buckets yet, and garbage. */
  readonly unfinished?: boolean;
}

/** Finds inconsistencies between the keys of a dictionary, and keys that belong to nothing. */
export class EntriesChecker {
  private readonly client: Redis;

  constructor(
    url: string,
    private readonly prefix: string,
  ) {
    this.client = new Redis(url, { maxRetriesPerRequest: 3 });
    this.client.on('error', () => undefined);
  }

  close(): void {
    this.client.disconnect();
  }

  async check(name: string, { unfinished = false }: CheckOptions = {}): Promise<string[]> {
    const { meta, keys } = await this.dump(name);
    const broken: string[] = [];
    const roles = rolesOf(meta);
    const expected = new Set(meta.size > 0 ? [entriesKey(this.prefix, name)] : []);
    if (!unfinished) {
      if (meta.has('pending')) broken.push('a put is pending');
      for (const [generation, role] of roles) {
        if (role === 'garbage' && generation !== meta.get('previous'))
          broken.push(`${generation} is garbage`);
      }
    }
    for (const [generation, role] of roles) {
      broken.push(...(await this.checkGeneration(name, meta, generation, role, expected)));
    }
    for (const key of keys) {
      if (!expected.has(key) && !(await this.expires(key))) broken.push(`${key} belongs to nothing`);
      const bytes = Number(await this.client.memory('USAGE', key, 'SAMPLES', 0));
      const bound = key.includes(':d:feed:') ? MAX_FEED_BYTES + LAST_WRITE_BYTES : MAX_KEY_BYTES;
      if (bytes > bound) broken.push(`${key} has ${bytes} bytes`);
    }
    return broken;
  }

  private async dump(name: string): Promise<Dump> {
    const key = entriesKey(this.prefix, name);
    const head = key.slice(0, key.indexOf('}') + 1);
    const keys = await this.client.keys(`${head}*`);
    return { meta: new Map(Object.entries(await this.client.hgetall(key))), keys };
  }

  /** A put that was cut short before its commit leaves chunks, and a deletion leaves its mark. Both expire. */
  private async expires(key: string): Promise<boolean> {
    return /:d:(stage:|dropped$)/.test(key) && (await this.client.pttl(key)) > 0;
  }

  private async checkGeneration(
    name: string,
    meta: Dump['meta'],
    generation: string,
    role: Role,
    expected: Set<string>,
  ): Promise<string[]> {
    const key = entriesKey(this.prefix, name);
    const head = key.slice(0, key.indexOf(':d:meta:') + ':d:'.length);
    const keyOf = (part: string, ...ids: (string | number)[]) => `${head}${[part, ...ids].join(':')}`;
    const state = await this.client.hgetall(keyOf('state', generation));
    const number = (field: string) => Number(state[field] ?? 0);
    const buckets = Number(state.buckets ?? 1);
    for (const part of ['state', 'feed', 'done']) expected.add(keyOf(part, generation));
    const found = { count: 0, bytes: 0, selected: 0 };
    const broken: string[] = [];
    const pipeline = this.client.pipeline();
    for (let n = 0; n < buckets; n += 1) pipeline.hgetallBuffer(keyOf('e', generation, n));
    const contents = (await pipeline.exec()) ?? [];
    for (const [n, [, content]] of contents.entries()) {
      expected.add(keyOf('e', generation, n));
      const fields = new Map(Object.entries(content as Record<string, Buffer>));
      for (const [field, value] of fields) {
        const id = field.startsWith(SELECTIONS) ? field.slice(1) : field;
        if (bucketOf(generation, id, buckets) !== n) broken.push(`${id} is in the wrong bucket ${n}`);
        if (field === id) {
          found.count += 1;
          found.bytes += Buffer.byteLength(id) + value.length;
        } else {
          found.selected += 1;
          if (!fields.has(id)) broken.push(`${id} has selections without an entry`);
        }
      }
    }
    if (role !== 'garbage') {
      for (const field of ['count', 'bytes', 'selected'] as const) {
        if (number(field) !== found[field]) broken.push(`${field} is ${number(field)}, not ${found[field]}`);
      }
    }
    broken.push(...(await this.checkFeed(meta, generation, role, keyOf, state, expected)));
    return broken.map((what) => `${role} ${generation}: ${what}`);
  }

  private async checkFeed(
    meta: Dump['meta'],
    generation: string,
    role: Role,
    keyOf: (part: string, ...ids: (string | number)[]) => string,
    state: Record<string, string>,
    expected: Set<string>,
  ): Promise<string[]> {
    const broken: string[] = [];
    const elements = await this.client.lrangeBuffer(keyOf('feed', generation), 0, -1);
    const done = await this.client.hkeys(keyOf('done', generation));
    const ids: string[] = [];
    let bytes = 0;
    let staged = 0;
    let tail: string | undefined;
    for (const element of elements) {
      const reader = new PackReader(element);
      const [before, id, , kind] = (reader.value() as Unpacked[]).map(String);
      if (tail !== undefined && before !== tail) broken.push(`the write ${id} does not follow ${tail}`);
      tail = tailAfter(String(before), String(id));
      ids.push(String(id));
      bytes += element.length + ELEMENT_BYTES;
      if (kind !== 'b') continue;
      const [count, chunkBytes] = (reader.value() as Unpacked[]).map(Number);
      staged += 1;
      bytes += chunkBytes ?? 0;
      for (let n = 0; n < (count ?? 0); n += 1) expected.add(keyOf('stage', String(id), n));
    }
    if (role === 'live' && tail !== meta.get('tail')) broken.push(`the feed ends with ${tail}`);
    if (done.sort().join() !== ids.sort().join()) broken.push('`done` differs from the feed');
    if (role !== 'garbage' || state.removed === undefined) {
      if (Number(state.feed ?? 0) !== bytes) broken.push(`the feed has ${bytes} bytes, not ${state.feed}`);
      if (Number(state.staged ?? 0) !== staged) broken.push(`${staged} puts are staged, not ${state.staged}`);
    }
    return broken;
  }
}

type Role = 'live' | 'import' | 'pins' | 'garbage';

function rolesOf(meta: Dump['meta']): Map<string, Role> {
  const roles = new Map<string, Role>();
  for (const [field, value] of meta) {
    if (field === 'live') roles.set(value, 'live');
    if (field.startsWith('import:')) roles.set(value, 'import').set(`${value}:pins`, 'pins');
    if (field.startsWith('garbage:')) roles.set(field.slice('garbage:'.length), 'garbage');
  }
  return roles;
}

/** The digest of a history, written again from its definition. */
function tailAfter(before: string, id: string): string {
  return createHash('sha1').update(`${before}${id}`).digest('hex').slice(0, 24);
}

/** Linear hashing, written again from its definition. */
function bucketOf(generation: string, id: string, buckets: number): number {
  const hash = createHash('sha1').update(generation).update(id).digest().readUInt32BE(0);
  const level = 2 ** Math.floor(Math.log2(buckets));
  const number = hash % (2 * level);
  return number < buckets ? number : hash % level;
}
