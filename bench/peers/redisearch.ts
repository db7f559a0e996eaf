import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import type { Missing } from '../support/yardsticks';
import { unpackedPackages } from '../words/debian-packages';
import type { Engine, Peer } from './peer';
import { openRedisEngine, type RedisCommands } from './redis-engine';

const MODULE = 'usr/lib/redis/modules/redisearch.so';
/** No bound on the words that a prefix stands for, and none on the time: by default answers are cut short. */
const SETTINGS = [
  'MAXEXPANSIONS',
  '10000000',
  'MINPREFIX',
  '1',
  'TIMEOUT',
  '0',
  'MAXDOCTABLESIZE',
  '10000000',
];

async function open(commands: RedisCommands): Promise<Engine | Missing> {
  const unpacked = await unpackedPackages('redisearch', ['redis-redisearch']);
  if ('missing' in unpacked) return unpacked;
  const module = join(unpacked.folder, MODULE);
  if (!existsSync(module)) return { missing: `the package redis-redisearch has no ${MODULE}` };
  return openRedisEngine(commands, ['--loadmodule', module, ...SETTINGS]);
}

/** The module tells its version as a number, such as 10200 for 1.2.0. */
async function version(redis: Redis): Promise<string> {
  const [module] = (await redis.call('MODULE', 'LIST')) as [
    name: string,
    module: string,
    ver: string,
    number,
  ][];
  const number = module?.[3] ?? 0;
  const parts = [number / 10_000, (number / 100) % 100, number % 100].map(Math.floor);
  return `RediSearch ${parts.join('.')}`;
}

/** Calls a command of the module. */
async function call(redis: Redis, command: string, ...args: (string | number)[]): Promise<unknown[]> {
  const reply = await redis.call(command, ...args);
  return Array.isArray(reply) ? reply : [];
}

/** The words of a query, of which the last one is not complete. Punctuation separates words, as in the module. */
function prefixQuery(query: string): string {
  const words = query.split(/[^\p{L}\p{N}\p{M}]+/u).filter((word) => word !== '');
  return `${words.join(' ')}*`;
}

export const redisearchSuggestions: Peer = {
  title: 'RediSearch FT.SUGGET',
  abilities: {
    prefix: 'yes',
    'word prefix': 'no',
    suffix: 'no',
    contains: 'no',
    typo: '1 edit',
    'best by weight': 'no: weight and length',
    'later pages': 'no',
    'a write is seen at once': 'yes',
  },
  shortest: { prefix: 1, typo: 4 },
  open: () =>
    open({
      version,
      add: (redis, corpus, { folded, id, weight }) =>
        redis.call('FT.SUGADD', corpus, folded, weight, 'PAYLOAD', id),
      find: async (redis, corpus, ask, query) => {
        const fuzzy = ask === 'typo' ? ['FUZZY'] : [];
        const reply = await call(redis, 'FT.SUGGET', corpus, query, 'MAX', 10, 'WITHPAYLOADS', ...fuzzy);
        return reply.filter((_, index) => index % 2 === 1).map(String);
      },
    }),
};

export const redisearchFull: Peer = {
  title: 'RediSearch FT.SEARCH',
  abilities: {
    prefix: 'no: any word',
    'word prefix': 'yes, and the first word',
    suffix: 'no',
    contains: 'no',
    typo: 'whole words, 1 edit',
    'best by weight': 'yes',
    'later pages': 'yes',
    'a write is seen at once': 'yes',
  },
  shortest: { 'word prefix': 1 },
  open: () =>
    open({
      version,
      prepare: (redis, corpus) =>
        redis.call(
          ...(['FT.CREATE', corpus, 'NOOFFSETS', 'NOFREQS', 'NOFIELDS', 'STOPWORDS', 0] as const),
          ...['SCHEMA', 'entry', 'TEXT', 'NOSTEM', 'rank', 'NUMERIC', 'SORTABLE'],
        ),
      add: (redis, corpus, { folded, id, weight }) =>
        redis.call(
          ...(['FT.ADD', corpus, `${corpus}/${id}`, 1, 'NOSAVE'] as const),
          ...['FIELDS', 'entry', folded, 'rank', weight],
        ),
      find: async (redis, corpus, _ask, query) => {
        const sorted = ['NOCONTENT', 'SORTBY', 'rank', 'DESC', 'LIMIT', 0, 10] as const;
        const [, ...ids] = await call(redis, 'FT.SEARCH', corpus, prefixQuery(query), ...sorted);
        return ids.map((id) => String(id).slice(corpus.length + 1));
      },
    }),
};
