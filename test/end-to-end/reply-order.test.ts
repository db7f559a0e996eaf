import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../support/eventually';
import type { HoldStream } from '../support/clients/streams';
import { lock, SessionStream } from '../support/clients/session-stream';
import { RedisProcess } from '../support/processes/redis-process';
import { InProcessServer } from './in-process-server';

/**
 * Two calls of each request are on one server while Redis does not answer. Redis then answers all commands together, so
 * the server handles the replies in another order than Redis has made them. See docs/design/leases.md, rule 3.
 */

/** Redis is stopped once for each request. */
const REQUESTS = 12;
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
}

/** Stops Redis, releases the lock, runs the next step, and lets Redis continue. */
async function releaseThen(release: () => Promise<unknown>, next: () => void): Promise<void> {
  await redis.stop();
  let released: Promise<unknown>;
  try {
    released = release();
    await sleep(STOPPED_MS / 2);
    next();
    await sleep(STOPPED_MS / 2);
  } finally {
    await redis.cont();
  }
  await released;
}

/**
 * For each request: a client holds the lock, `wait` begins to wait for it, and `repeat` asks again just after the release.
 */
async function askTwice(
  title: string,
  wait: (pair: Pair) => Promise<unknown>,
  repeat: (pair: Pair) => void,
): Promise<void> {
  const holder = server.client();
  for (let index = 0; index < REQUESTS; index += 1) {
    const pair = { name: `${title}/${index}`, requestId: randomUUID() };
    const { leaseId } = await holder.acquire({ name: pair.name, ttlMs: 60_000 });
    await wait(pair);
    await releaseThen(
      () => holder.release(leaseId),
      () => repeat(pair),
    );
  }
}

test('two sessions of one client ask for the same requests: the later session keeps every lease, and the earlier session holds none', async () => {
  const clientId = randomUUID();
  const [earlier, later] = [1n, 2n].map(
    (sessionNumber) => new SessionStream(server.address, { start: { clientId, sessionNumber } }),
  ) as [SessionStream, SessionStream];
  sessions.push(earlier, later);
  const ids: number[] = [];
  const command = ({ name, requestId }: Pair) => lock(name, { requestId, ttlMs: TTL_MS });
  await askTwice(
    'sessions',
    (pair) => earlier.event(earlier.run(command(pair)), 'queued'),
    (pair) => ids.push(later.run(command(pair))),
  );
  for (const id of ids) await later.event(id, 'granted');
  const lastGranted = later.responses.length;
  const isRenewed = (id: number): boolean =>
    later.responses
      .slice(lastGranted)
      .some(({ renewals }) => renewals.some(({ leaseNumber }) => Number(leaseNumber) === id));
  await eventually('a renewal of every lease', () => ids.every(isRenewed));
  await eventually('an end of each older command', () =>
    ids.every((id) => earlier.kinds(id).some((kind) => kind === 'failed' || kind === 'ended')),
  );
  expect(ids.flatMap((id) => later.kinds(id))).toEqual(ids.map(() => 'granted'));
});

test('two hold streams of each request: the stream that Redis attached last keeps the lease', async () => {
  const [one, other] = [server.client(), server.client()];
  const older: HoldStream[] = [];
  const newer: HoldStream[] = [];
  await askTwice(
    'streams',
    (pair) => {
      const stream = one.hold({ ...pair, ttlMs: TTL_MS });
      older.push(stream);
      return stream.next('queued');
    },
    (pair) => newer.push(other.hold({ ...pair, ttlMs: TTL_MS })),
  );
  for (const [index, stream] of newer.entries()) {
    await stream.until('renewed');
    expect(stream.kinds.filter((kind) => kind === 'granted')).toHaveLength(1);
    expect(await older[index]?.ending).toMatchObject({ reason: 'SUPERSEDED' });
  }
});
