import { randomUUID } from 'node:crypto';
import { attach, lock, release, SessionStream } from '../../support/clients/session-stream';
import { ServerPair } from '../server-pair';

/** The commands of sessions of one process, by session_number, on a real Redis. See docs/design/sessions.md. */

let pair: ServerPair;
const open: SessionStream[] = [];

beforeAll(async () => {
  pair = await ServerPair.start();
});
afterAll(async () => {
  for (const one of open) one.close();
  await pair?.close();
});

function session(clientId: string, sessionNumber: bigint, server = pair.first): SessionStream {
  const one = new SessionStream(server.address, { start: { clientId, sessionNumber } });
  open.push(one);
  return one;
}

async function held(one: SessionStream, name: string) {
  const requestId = randomUUID();
  // The second command of its session.
  const number = one.run(lock(`${name} first`), lock(name, { requestId, ttlMs: 60_000 })) + 1;
  const { lease } = await one.event(number, 'granted');
  return { number, requestId, leaseId: lease?.leaseId ?? '', token: lease?.fencingToken };
}

const reason = async (one: SessionStream, number: number): Promise<string> =>
  (await one.event(number, 'failed')).reasonText;

test.each([
  ['a lower session_number', 4n],
  ['an equal session_number, by an earlier command', 5n],
])('an attach and an acquire of %s get SUPERSEDED, on any server', async (title, sessionNumber) => {
  const clientId = randomUUID();
  const owner = session(clientId, 5n);
  const { number, requestId, leaseId } = await held(owner, title);
  const [attaching, acquiring] = [pair.first, pair.second].map((at) => session(clientId, sessionNumber, at));
  if (attaching === undefined || acquiring === undefined) throw new Error('no session');
  expect(await reason(attaching, attaching.run(attach(leaseId)))).toBe('SUPERSEDED');
  expect(await reason(acquiring, acquiring.run(lock(title, { requestId, ttlMs: 60_000 })))).toBe(
    'SUPERSEDED',
  );
  expect(owner.kinds(number)).toEqual(['granted']);
  expect(await owner.event(owner.run(release(number)), 'released')).toMatchObject({ released: true });
});

test('a later command of an equal session_number takes the lease, with its token', async () => {
  const clientId = randomUUID();
  const owner = session(clientId, 5n);
  const { number, leaseId, token } = await held(owner, 'equal and later');
  const other = session(clientId, 5n, pair.second);
  const attaching = other.run(attach(randomUUID()), attach(randomUUID()), attach(leaseId)) + 2;
  expect((await other.event(attaching, 'granted')).lease?.fencingToken).toBe(token);
  await owner.event(number, 'ended');
});

test('a wait of a later session is not given to a session with a lower number', async () => {
  const clientId = randomUUID();
  const [holder, later, earlier] = [
    session(randomUUID(), 1n),
    session(clientId, 2n),
    session(clientId, 1n, pair.second),
  ];
  const { number } = await held(holder, 'waits');
  const requestId = randomUUID();
  const waiting = later.run(lock('waits', { requestId }));
  await later.event(waiting, 'queued');
  expect(await reason(earlier, earlier.run(lock('waits', { requestId })))).toBe('SUPERSEDED');
  holder.run(release(number));
  await later.event(waiting, 'granted');
});
