import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../support/eventually';
import { lock } from '../support/clients/session-commands';
import { SessionStream } from '../support/clients/session-stream';
import { RedisProcess } from '../support/processes/redis-process';
import { InProcessServer } from './in-process-server';

/**
 * Two calls of each request are on one server while Redis does not answer. Redis then answers all commands together, so
 * the server handles the replies in another order than Redis has made them. See docs/design/leases.md, rule 3.
 */

const REQUESTS = 20;
const TTL_MS = 4000;
const STOPPED_MS = 100;

let redis: RedisProcess;
let server: InProcessServer;
const sessions: SessionStream[] = [];

beforeAll(async () => {
  redis = await RedisProcess.start();
  server = await InProcessServer.start(redis.url);
});
afterAll(async () => {
  for (const session of sessions) session.close();
  await server?.close();
  await redis?.close();
});

interface Pair {
  readonly name: string;
  readonly requestId: string;
  readonly leaseId: string;
}

/** Locks that a client holds. */
async function heldLocks(title: string): Promise<{ pairs: Pair[]; releaseAll: () => Promise<unknown> }> {
  const client = server.client();
  const pairs = await Promise.all(
    Array.from({ length: REQUESTS }, async (_, index) => {
      const name = `${title}/${index}`;
      const { leaseId } = await client.acquire({ name, ttlMs: 60_000 });
      return { name, requestId: randomUUID(), leaseId };
    }),
  );
  return { pairs, releaseAll: () => Promise.all(pairs.map(({ leaseId }) => client.release(leaseId))) };
}

/** Runs steps while Redis is stopped, so that the server sends their commands in this order. */
async function whileStopped(...steps: (() => unknown)[]): Promise<void> {
  await redis.stop();
  try {
    for (const step of steps) {
      step();
      await sleep(STOPPED_MS / steps.length);
    }
  } finally {
    await redis.cont();
  }
}

test('two sessions of one client ask for the same requests: the later session keeps every lease, and the earlier session holds none', async () => {
  const { pairs, releaseAll } = await heldLocks('sessions');
  const clientId = randomUUID();
  const [earlier, later] = [1n, 2n].map(
    (sessionNumber) => new SessionStream(server.address, { start: { clientId, sessionNumber } }),
  ) as [SessionStream, SessionStream];
  sessions.push(earlier, later);
  const commands = pairs.map(({ name, requestId }) => lock(name, { requestId, ttlMs: TTL_MS }));
  const first = earlier.run(...commands);
  const ids = commands.map((_, index) => first + index);
  for (const id of ids) await earlier.event(id, 'queued');
  let released: Promise<unknown> | undefined;
  await whileStopped(
    () => (released = releaseAll()),
    () => later.run(...commands),
  );
  await released;
  for (const id of ids) await later.event(id, 'granted');
  const isRenewed = (id: number): boolean =>
    later.responses.some(({ renewals }) => renewals.some(({ leaseNumber }) => Number(leaseNumber) === id));
  await eventually('a renewal of every lease', () => ids.every(isRenewed));
  await eventually('an end of each older command', () =>
    ids.every((id) => earlier.kinds(id).some((kind) => kind === 'failed' || kind === 'ended')),
  );
  expect(ids.flatMap((id) => later.kinds(id))).toEqual(ids.map(() => 'granted'));
});

test('two hold streams of each request: the stream that Redis attached last keeps the lease', async () => {
  const { pairs, releaseAll } = await heldLocks('streams');
  const [one, other] = [server.client(), server.client()];
  const hold = ({ name, requestId }: Pair, client = one) => client.hold({ name, requestId, ttlMs: TTL_MS });
  const older = pairs.map((pair) => hold(pair));
  for (const stream of older) await stream.next('queued');
  let newer = older;
  let released: Promise<unknown> | undefined;
  await whileStopped(
    () => (released = releaseAll()),
    () => (newer = pairs.map((pair) => hold(pair, other))),
  );
  await released;
  for (const [index, stream] of newer.entries()) {
    await stream.until('renewed');
    expect(stream.kinds.filter((kind) => kind === 'granted')).toHaveLength(1);
    expect(await older[index]?.ending).toMatchObject({ reason: 'SUPERSEDED' });
  }
});
