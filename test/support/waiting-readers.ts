import type { PermitsFixture } from './permits-fixture';
import type { Requester } from './permits-requester';
import { is } from './reply-kinds';

const BATCH = 64;

/** A writer releases a lock for which readers wait. Expects a grant of every reader, in batches of 64 offers. */
export async function grantsWaitingReaders(fixture: PermitsFixture, readerCount: number): Promise<void> {
  const lock = fixture.resource();
  const server = await fixture.server('s1');
  const writer = await fixture.request('s1', lock);
  is('granted', await writer.try());
  const readers = await fixture.requests(readerCount, 's1', lock, { mode: 'shared' });
  await Promise.all(readers.map(async (reader) => is('waiting', await reader.queue())));
  const byId = new Map(readers.map((reader) => [reader.requestId, reader]));

  // Claims each offer and touches the lock while batches are left, as a server does.
  const granted: bigint[] = [];
  server.answers.splice(0);
  server.rechecks = [];
  is('released', await writer.release(writer.secret));
  while (granted.length < readerCount) {
    const told = server.rechecks;
    server.rechecks = [];
    const [, ...replies] = await Promise.all([
      server.store.touch(lock, []),
      ...told.map((id) => (byId.get(id) as Requester).claim()),
    ]);
    for (const [index, reply] of replies.entries()) {
      // A reply to a touch may repeat an offer, and a lapsed offer is made again.
      if (reply.kind === 'granted' && byId.delete(told[index] as string)) granted.push(reply.fencingToken);
    }
    server.rechecks = server.rechecks.filter((id) => byId.has(id));
  }
  expect((await fixture.stored(lock)).numbers.used).toBe(String(readerCount));
  expect(new Set(granted).size).toBe(readerCount);
  expect(Math.max(...server.answers.map(({ told }) => told))).toBe(BATCH);
}
