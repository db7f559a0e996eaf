import { dictionaryNamesKey, entriesKey } from '../../src/autocomplete/redis/entry-keys';
import { EntriesChecker, type CheckOptions } from '../support/autocomplete/entries-checker';
import { eventuallyPasses } from '../support/eventually';
import type { RedisProcess } from '../support/processes/redis-process';
import type { DictionaryClient } from './dictionary-client';
import { PREFIX } from './observer';

/** Enough for the sweep after a call, on a machine with busy cores. The rounds of sweeps are further apart. */
const SWEPT_MS = 10_000;

/** The keys of a dictionary, except the chunks of a put that was cut short and the mark of a deletion, which expire. */
export async function keysOf(redis: RedisProcess, name: string): Promise<string[]> {
  const meta = entriesKey(PREFIX, name);
  const keys = (await redis.command('KEYS', `${meta.slice(0, meta.indexOf('}') + 1)}*`)) as string[];
  const expire = await Promise.all(
    keys.map(
      async (key) => /:d:(stage:|dropped$)/.test(key) && Number(await redis.command('PTTL', key)) !== -1,
    ),
  );
  return keys.filter((_, index) => !expire[index]);
}

/** The ids of the generations that are live, built or removed. The replaced generation is kept for a while. */
export async function generationsOf(redis: RedisProcess, name: string): Promise<string[]> {
  const meta = await metaOf(redis, name);
  const found = [...meta].flatMap(([field, value]) => {
    if (field.startsWith('garbage:')) return [field.slice('garbage:'.length)];
    return field === 'live' || field.startsWith('import:') ? [value] : [];
  });
  return [...new Set(found)].filter((generation) => generation !== meta.get('previous'));
}

async function metaOf(redis: RedisProcess, name: string): Promise<Map<string, string>> {
  const fields = (await redis.command('HGETALL', entriesKey(PREFIX, name))) as string[];
  return new Map(
    Array.from({ length: fields.length / 2 }, (_, i) => [String(fields[2 * i]), String(fields[2 * i + 1])]),
  );
}

/** Makes the imports of a dictionary look abandoned, by a last message in the distant past. */
export async function silenceImports(redis: RedisProcess, name: string): Promise<void> {
  const key = entriesKey(PREFIX, name);
  for (const [field, generation] of await metaOf(redis, name)) {
    if (!field.startsWith('import:')) continue;
    await redis.command('HSET', `${key.slice(0, key.indexOf('}:d:') + 4)}state:${generation}`, 'heard', 1);
  }
}

/** The inconsistencies of the stored keys. */
export async function checkDictionary(
  redis: RedisProcess,
  name: string,
  options?: CheckOptions,
): Promise<string[]> {
  const checker = new EntriesChecker(redis.adminUrl, PREFIX);
  try {
    return await checker.check(name, options);
  } finally {
    checker.close();
  }
}

/** Waits until a dictionary has one generation at most and its keys are consistent. */
export async function expectSound(
  redis: RedisProcess,
  client: DictionaryClient,
  name: string,
  timeoutMs = SWEPT_MS,
): Promise<void> {
  await eventuallyPasses(
    `${name} to be at rest`,
    async () => {
      expect(await checkDictionary(redis, name)).toEqual([]);
      // An empty dictionary has no keys of a generation.
      expect((await generationsOf(redis, name)).length).toBeLessThanOrEqual(1);
    },
    { timeoutMs, everyMs: 100 },
  );
  const { entryCount, imports } = await client.get(name);
  expect(imports).toEqual([]);
  expect(await client.list(name)).toHaveLength(Number(entryCount));
}

/** Waits until Redis has no key of a dictionary and does not list its name. */
export async function expectNothingLeft(
  redis: RedisProcess,
  name: string,
  timeoutMs = SWEPT_MS,
): Promise<void> {
  await eventuallyPasses(
    `nothing to be left of ${name}`,
    async () => {
      expect(await keysOf(redis, name)).toEqual([]);
      expect(await redis.command('ZSCORE', dictionaryNamesKey(PREFIX), name)).toBeNull();
    },
    { timeoutMs },
  );
}
