import type { Redis } from 'ioredis';
import type { Peer } from './peer';
import { openRedisEngine } from './redis-engine';

const BEFORE_ID = '\0';
/** Greater than every byte of UTF-8. */
const LAST = Buffer.from([0xff]);

function find(redis: Redis, corpus: string, query: string): Promise<string[]> {
  const end = Buffer.concat([Buffer.from(`[${query}`), LAST]);
  return redis
    .zrangebylex(corpus, `[${query}`, end, 'LIMIT', 0, 10)
    .then((members) => members.map((member) => member.slice(member.indexOf(BEFORE_ID) + 1)));
}

export const zrangebylex: Peer = {
  title: 'ZRANGEBYLEX',
  abilities: {
    prefix: 'yes',
    'word prefix': 'no',
    suffix: 'no',
    contains: 'no',
    typo: 'no',
    'best by weight': 'no: the first by text',
    'later pages': 'yes',
    'a write is seen at once': 'yes',
  },
  shortest: { prefix: 1 },
  open: () =>
    openRedisEngine({
      version: async (redis) => {
        const version = /^redis_version:(\S+)/m.exec(await redis.info('server'))?.[1];
        return `Redis ${version ?? 'of unknown version'}`;
      },
      add: (redis, corpus, { folded, id }) => redis.zadd(corpus, 0, folded + BEFORE_ID + id),
      find: (redis, corpus, _ask, query) => find(redis, corpus, query),
    }),
};
