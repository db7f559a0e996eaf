import type { QueuePlace } from '../../../clients/typescript';
import type { SessionClient } from '../../../clients/typescript/sessions/session-client';
import type { SessionNews } from '../../../clients/typescript/sessions/session-news';
import { ServerPair } from '../../end-to-end/server-pair';
import { causeOf, lock, openSession, permits } from '../../support/clients/sdk-session';
import { eventually } from '../../support/eventually';

let pair: ServerPair;
const clients: SessionClient[] = [];

beforeAll(async () => {
  pair = await ServerPair.start({ HOLDFAST_DRAIN_TIMEOUT: '20s' });
});
afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await pair?.close();
});

function client(holderId = 'worker', onNews?: (news: SessionNews) => void): SessionClient {
  const addresses = [pair.first.address, pair.second.address];
  const one = openSession({ addresses, holderId, ...(onNews && { onNews }) });
  clients.push(one);
  return one;
}

test.concurrent(
  'a session client of a real server holds a lock beyond its ttl, shows metadata, and releases',
  async () => {
    const lease = await lock(client(), 'kept', { ttlMs: 3000, metadata: new Map([['zone', 'a']]) });
    const first = lease.deadline;
    await eventually('a deadline one ttl later', () => lease.deadline > first + 3000);
    await lease.updateMetadata(new Map([['zone', 'b']]));
    const seen = await pair.second.client().get('kept');
    expect(seen.holders).toMatchObject([{ holderId: 'worker', metadata: new Map([['zone', 'b']]) }]);
    expect(await lease.release()).toMatchObject({ released: true });
    expect(causeOf(lease)).toBe('RELEASED');
    expect((await pair.second.client().get('kept')).holderCount).toBe(0);
  },
);

test.concurrent(
  'a session client of a real server waits in the queue, and is granted at the release',
  async () => {
    const places: QueuePlace[] = [];
    const held = await lock(client('alice'), 'queue');
    const waiting = lock(client('bob'), 'queue', { onQueued: (place) => places.push(place) });
    await eventually('a place in the queue', () => places.length > 0);
    expect(places[0]).toMatchObject({ position: 1, waiterCount: 1, holder: { holderId: 'alice' } });
    await held.release();
    const next = await waiting;
    expect(next.token).toBeGreaterThan(held.token);
    await next.release();
  },
);

test.concurrent(
  'a session client of a real server tries once, and waits no longer than the wait',
  async () => {
    const held = await lock(client('alice'), 'taken');
    for (const waitMs of [0, 100]) {
      await expect(lock(client(), 'taken', { waitMs })).rejects.toMatchObject({ reason: 'CONTENDED' });
    }
    await held.release();
  },
);

test.concurrent('a session client of a real server leaves the queue when its wait is aborted', async () => {
  const held = await lock(client('alice'), 'left');
  const abort = new AbortController();
  const waiting = lock(client(), 'left', { signal: abort.signal, onQueued: () => abort.abort() });
  await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
  const observer = pair.second.client();
  await eventually('an empty queue', async () => (await observer.get('left')).waiterCount === 0);
  await held.release();
});

test.concurrent('a session client of a real server holds permits beside locks', async () => {
  const one = client();
  const both = await Promise.all([
    permits(one, 'pool', { permitCount: 2, initialLimit: 3 }),
    lock(one, 'beside permits'),
  ]);
  expect(both.map(({ permitCount }) => permitCount)).toEqual([2, 1]);
  await expect(permits(client(), 'pool', { permitCount: 2, waitMs: 0 })).rejects.toMatchObject({
    reason: 'CONTENDED',
  });
  for (const lease of both) await lease.release();
});

test.concurrent(
  'a session client of a real server frees its leases and its waits when it is closed',
  async () => {
    const [holder, waiter] = [client('alice'), client('bob')];
    await lock(holder, 'closed');
    let isQueued = false;
    const waiting = lock(waiter, 'closed', { onQueued: () => (isQueued = true) });
    const refused = expect(waiting).rejects.toMatchObject({ reason: 'CLOSED' });
    await eventually('a place in the queue', () => isQueued);
    await waiter.close();
    await refused;
    await holder.close();
    expect(await pair.second.client().get('closed')).toMatchObject({ holderCount: 0, waiterCount: 0 });
  },
);

test.concurrent(
  'a session client of a real server does not ask again for an acquire that the server refuses',
  async () => {
    await expect(lock(client(), '')).rejects.toMatchObject({ reason: 'INVALID_FIELD' });
  },
);

test.concurrent(
  'leases and waits move to the next server, with their tokens and places, while a server drains',
  async () => {
    const news: SessionNews[] = [];
    const moving = await ServerPair.start({ HOLDFAST_DRAIN_TIMEOUT: '20s' });
    const one = openSession({
      addresses: [moving.first.address, moving.second.address],
      onNews: (item) => news.push(item),
    });
    const leases = await Promise.all(
      Array.from({ length: 50 }, (_, n) => lock(one, `drained ${n}`, { ttlMs: 5000 })),
    );
    const waiting = lock(one, 'drained 0', { ttlMs: 5000 });
    await moving.first.drain();
    await eventually('every attach', () => news.filter(({ kind }) => kind === 'attached').length === 50);
    expect(leases.filter(({ isOver }) => isOver)).toEqual([]);
    const seen = await moving.second.client().get('drained 7');
    expect(seen.holders[0]?.fencingToken).toBe(leases[7]?.fencingToken);
    await leases[0]?.release();
    expect((await waiting).name).toBe('drained 0');
    expect(news.filter(({ kind }) => kind === 'ended')).toEqual([]);
    await one.close();
    await moving.close();
  },
);
