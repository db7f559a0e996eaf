import { dictionaryKey, dictionaryNamesKey } from '../../src/redis/keys';
import { checkDictionary } from '../support/dictionary-checker';
import { eventuallyPasses } from '../support/eventually';
import type { RedisProcess } from '../support/processes/redis-process';
import type { DictionaryClient } from './dictionary-client';
import { PREFIX } from './observer';

export async function keysOf(redis: RedisProcess, name: string): Promise<string[]> {
  const meta = dictionaryKey(PREFIX, name);
  const head = meta.slice(0, meta.indexOf('}:d:') + '}:d:'.length);
  const keys = (await redis.command('KEYS', `${head}*`)) as string[];
  const own = (rest: string): boolean => rest === name || rest.startsWith(`${name}\0`);
  return keys.filter((key) => key === meta || own(key.slice(head.length).replace(/^[a-z]+:\d+:/, '')));
}

export async function generationsOf(redis: RedisProcess, name: string): Promise<string[]> {
  const found = (await keysOf(redis, name)).map((key) => /}:d:[a-z]+:(\d+):/.exec(key)?.[1]);
  return [...new Set(found)].filter((generation) => generation !== undefined);
}

/** Makes the imports of a dictionary look abandoned, by a last message in the distant past. */
export async function silenceImports(redis: RedisProcess, name: string): Promise<void> {
  const meta = dictionaryKey(PREFIX, name);
  const fields = (await redis.command('HGETALL', meta)) as string[];
  for (const [index, field] of fields.entries()) {
    if (index % 2 === 1 || !field.startsWith('build:')) continue;
    const state = meta.replace('}:d:meta:', `}:d:state:${fields[index + 1]}:`);
    await redis.command('HSET', state, 'heard', 1);
  }
}

/** Waits until a dictionary has one generation at most and its index is consistent. */
export async function expectSound(
  redis: RedisProcess,
  client: DictionaryClient,
  name: string,
  timeoutMs = 5000,
): Promise<void> {
  await eventuallyPasses(
    `${name} to be at rest`,
    async () => {
      expect(await checkDictionary({ url: redis.url, prefix: PREFIX, name })).toEqual([]);
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
export async function expectNothingLeft(redis: RedisProcess, name: string, timeoutMs = 5000): Promise<void> {
  await eventuallyPasses(
    `nothing to be left of ${name}`,
    async () => {
      expect(await keysOf(redis, name)).toEqual([]);
      expect(await redis.command('ZSCORE', dictionaryNamesKey(PREFIX), name)).toBeNull();
    },
    { timeoutMs },
  );
}
