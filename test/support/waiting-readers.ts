import type { LeaseFixture } from './leases/lease-fixture';
import { is } from './reply-kinds';

const BATCH = 64;

/**
 * A writer releases a lock for which readers of the same server wait. Expects a direct grant of every reader in the order of
 * the queue, in batches of 64.
 */
export async function grantsWaitingReaders(fixture: LeaseFixture, readerCount: number): Promise<void> {
  const lock = fixture.resource();
  const server = await fixture.server('s1');
  const writer = await fixture.request('s1', lock);
  is('granted', await writer.try());
  const readers = await fixture.requests(readerCount, 's1', lock, { mode: 'shared' });
  await Promise.all(readers.map(async (reader) => is('waiting', await reader.queue())));
  const places = new Map(readers.map((reader) => [reader.requestId, Number(reader.ticket)]));

  server.answers.splice(0);
  server.grants = [];
  is('released', await writer.release(writer.secret));
  // Touches the lock while batches are left, as a server does.
  await fixture.finishBatches(lock, () => Promise.resolve());
  const tickets = server.grants.map(({ call }) => places.get(call.requestId) as number);
  expect(tickets).toEqual([...places.values()].sort((a, b) => a - b));
  expect((await fixture.stored(lock)).numbers.used).toBe(String(readerCount));
  expect(new Set(server.grants.map(({ grant }) => grant.fencingToken)).size).toBe(readerCount);
  expect(Math.max(...server.answers.map(({ told }) => told))).toBe(BATCH);
  expect(server.answers.length).toBeLessThanOrEqual(readerCount / BATCH + 2);
}
