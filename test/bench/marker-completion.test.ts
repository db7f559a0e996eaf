import { Redis } from 'ioredis';
import { MarkerCompletion } from '../../bench/chapter/marker-completion';
import { RedisProcess } from '../support/processes/redis-process';

/** Checks the benchmark's port of the marker completion: behaviours 6 to 9 of docs/design/chapter.md. */

const SET = 'members';
const NAMES = ['ana', 'anabel', 'anabelle', 'anastasia', 'andrea', 'an zhu', 'bea', 'zoe'];

let redis: RedisProcess;
const clients: Redis[] = [];

function client(): Redis {
  const made = new Redis(redis.port);
  clients.push(made);
  return made;
}

beforeAll(async () => {
  redis = await RedisProcess.start();
});
afterAll(async () => {
  for (const redisClient of clients) redisClient.disconnect();
  await redis.close();
});
beforeEach(async () => {
  const writer = client();
  await writer.del(SET);
  for (const name of NAMES) await writer.zadd(SET, '0', name);
});

test('MarkerCompletion answers the names with the prefix in order, and removes its markers', async () => {
  const completion = new MarkerCompletion(client(), SET);
  expect(await completion.complete('ana')).toEqual(['ana', 'anabel', 'anabelle', 'anastasia']);
  expect(await completion.complete('an ')).toEqual(['an zhu']);
  expect(await completion.complete('x')).toEqual([]);
  expect(await client().zcard(SET)).toBe(NAMES.length);
  expect(completion.retries).toBe(0);
});

test('MarkerCompletion answers at most ten names', async () => {
  const many = Array.from(
    { length: 30 },
    (_, index) => `kim ${String.fromCharCode(97 + index / 26)}${index}`,
  );
  for (const name of many) await client().zadd(SET, '0', name);
  expect(await new MarkerCompletion(client(), SET).complete('kim')).toEqual([...many].sort().slice(0, 10));
});

test('MarkerCompletion starts again after a write of another client, and answers no marker', async () => {
  const other = client();
  let written = false;
  const completion = new MarkerCompletion(client(), SET, async () => {
    if (!written) await other.zadd(SET, '0', 'anab{of-another-client');
    written = true;
  });
  expect(await completion.complete('ana')).toEqual(['ana', 'anabel', 'anabelle', 'anastasia']);
  expect(completion.retries).toBe(1);
});

test('concurrent calls of MarkerCompletion answer only names with the prefix, and leave no marker', async () => {
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => new MarkerCompletion(client(), SET).complete('anab')),
  );
  for (const answer of answers) {
    expect(['anabel', 'anabelle']).toEqual(expect.arrayContaining(answer));
  }
  expect(await client().zcard(SET)).toBe(NAMES.length);
});
