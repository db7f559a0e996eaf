import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ErrorReason } from '../../../generated/typescript/holdfast/v1/error_reason';
import { Feature } from '../../../generated/typescript/holdfast/v1/server_service';
import { SessionEndCause } from '../../../generated/typescript/holdfast/v1/session_service';
import { ServerPair } from '../../end-to-end/server-pair';
import { serverInfo } from '../../support/clients/calls';
import { ms } from '../../support/clients/lease-client';
import {
  attach,
  cancel,
  lock,
  permits,
  release,
  SessionStream,
  type SessionStreamOptions,
} from '../../support/clients/session-stream';
import { eventually, eventuallyPasses } from '../../support/eventually';

let pair: ServerPair;
const open: SessionStream[] = [];

beforeAll(async () => {
  pair = await ServerPair.start();
});
afterAll(async () => {
  for (const session of open) session.close();
  await pair?.close();
});

function session(options: SessionStreamOptions = {}, server = pair.first): SessionStream {
  const one = new SessionStream(server.address, options);
  open.push(one);
  return one;
}

async function granted(one: SessionStream, name: string, ttlMs = 5000) {
  const number = one.run(lock(name, { ttlMs }));
  const { lease } = await one.event(number, 'granted');
  if (lease === undefined) throw new Error('granted without a lease');
  return { number, lease };
}

test.concurrent('a server with default settings lists FEATURE_SESSIONS and answers OpenSession', async () => {
  expect((await serverInfo(pair.first.address)).features).toContain(Feature.FEATURE_SESSIONS);
  const one = session();
  await eventually('started', () => one.responses[0]?.started !== undefined);
});

test.concurrent('a session sends its bounds first, and answers each heartbeat', async () => {
  const one = session({ heartbeatMs: 0 });
  await eventually('started', () => one.responses.length > 0);
  expect(one.responses[0]).toMatchObject({
    started: { maxCommandCount: 1000, maxMessageBytes: 2 ** 20, maxUnfinishedCount: 10_000 },
    heartbeatId: 1n,
  });
  expect(ms(one.responses[0]?.started?.heartbeatTimeout)).toBe(15_000);
  expect(ms(one.responses[0]?.heartbeatInterval)).toBe(5000);
  one.heartbeat();
  await eventually('the answer to heartbeat 2', () => one.responses.at(-1)?.heartbeatId === 2n);
});

test.concurrent(
  'a session holds locks and permits of several commands of one message, and renews them',
  async () => {
    const one = session();
    const first = one.run(
      lock('many a', { ttlMs: 6000 }),
      lock('many b', { ttlMs: 6000 }),
      permits('many p'),
    );
    const leases = [0, 1, 2].map((index) => one.event(first + index, 'granted'));
    expect((await Promise.all(leases)).map(({ lease }) => lease?.name)).toEqual([
      'many a',
      'many b',
      'many p',
    ]);
    const renewed = (number: number) =>
      one.responses
        .flatMap(({ renewals }) => renewals)
        .filter(({ leaseNumber }) => leaseNumber === BigInt(number));
    await eventually(
      'renewals of both locks',
      () => renewed(first).length > 2 && renewed(first + 1).length > 2,
    );
    expect((await pair.second.client().get('many a')).holderCount).toBe(1);
  },
);

test.concurrent('a session counts each offset from the heartbeat that the message names', async () => {
  const one = session({ heartbeatMs: 100 });
  const { number } = await granted(one, 'offsets', 3000);
  await eventually('three renewals', () => one.responses.flatMap(({ renewals }) => renewals).length > 2);
  for (const { heartbeatId, renewals } of one.responses) {
    const sentAt = one.sentAt.get(Number(heartbeatId));
    for (const { expireOffset, leaseNumber } of renewals) {
      expect([Number(leaseNumber), sentAt]).toEqual([number, expect.any(Number)]);
      // A renewal is sent after the heartbeat before, so the offset is at most a ttl and one interval of a slow client.
      expect(ms(expireOffset)).toBeLessThan(3000 + 5000);
    }
  }
});

test.concurrent(
  'a session reports positions and the grant of a waiting command, and the end before the release',
  async () => {
    const holder = session();
    const waiter = session({}, pair.second);
    const { number } = await granted(holder, 'hand-over');
    const waiting = waiter.run(lock('hand-over'));
    expect(await waiter.event(waiting, 'queued')).toMatchObject({ position: 1, waiterCount: 1 });
    const releasing = holder.run(release(number));
    expect(await holder.event(releasing, 'released')).toMatchObject({ released: true });
    const order = holder.events.map(({ commandId, event }) => `${commandId} ${event.$case}`);
    expect(order).toEqual([`${number} granted`, `${number} ended`, `${releasing} released`]);
    expect(await holder.event(number, 'ended')).toEqual({
      cause: SessionEndCause.SESSION_END_CAUSE_RELEASED,
    });
    await waiter.event(waiting, 'granted');
  },
);

test.concurrent('a session ends a cancelled wait with cancelled, and no wait remains', async () => {
  const holder = session();
  const { number } = await granted(holder, 'cancelled');
  const one = session();
  const waiting = one.run(lock('cancelled'));
  await one.event(waiting, 'queued');
  one.run(cancel(waiting));
  await one.event(waiting, 'cancelled');
  expect(one.kinds(waiting).filter((kind) => kind !== 'queued')).toEqual(['cancelled']);
  expect((await pair.first.client().get('cancelled')).waiterCount).toBe(0);
  holder.run(release(number));
});

test.concurrent(
  'a session replaces metadata by update, and fails commands without harm to the session',
  async () => {
    const one = session({ start: { holderId: 'worker 7', metadata: new Map([['zone', 'a']]) } });
    const { number } = await granted(one, 'updated');
    const shown = async () => (await pair.first.client().get('updated')).holders[0];
    expect(await shown()).toMatchObject({ holderId: 'worker 7', metadata: new Map([['zone', 'a']]) });
    const entries = new Map([['zone', 'b']]);
    const updating = one.run({
      $case: 'update',
      value: { leaseNumber: BigInt(number), metadataUpdate: { entries } },
    });
    await one.event(updating, 'updated');
    expect((await shown())?.metadata).toEqual(entries);
    const bad = one.run(lock(''), release(9), attach('nonsense'), {
      $case: 'cancel',
      value: { commandId: 99n },
    });
    const reasons = [0, 1, 2].map(async (index) => (await one.event(bad + index, 'failed')).reasonText);
    expect(await Promise.all(reasons)).toEqual(['INVALID_FIELD', 'LEASE_NOT_HELD', 'INVALID_FIELD']);
    expect((await one.event(bad, 'failed')).violations).toMatchObject([{ field: 'acquire_lock.name' }]);
    expect((await one.event(bad, 'failed')).reason).toBe(ErrorReason.ERROR_REASON_INVALID_FIELD);
    one.run(release(number));
    await one.event(number, 'ended');
  },
);

test.concurrent('a session loses its lease to a later session, and cannot take the lease back', async () => {
  const clientId = randomUUID();
  const first = session({ start: { clientId } });
  const { number, lease } = await granted(first, 'moved');
  const second = session({ start: { clientId, sessionNumber: 2n } }, pair.second);
  const attaching = second.run(attach(lease.leaseId));
  expect((await second.event(attaching, 'granted')).lease?.fencingToken).toBe(lease.fencingToken);
  expect(await first.event(number, 'ended')).toEqual({
    cause: SessionEndCause.SESSION_END_CAUSE_SUPERSEDED,
  });
  const late = first.run(attach(lease.leaseId), lock('moved', { requestId: lease.requestId }));
  const reasons = [0, 1].map(async (index) => (await first.event(late + index, 'failed')).reasonText);
  expect(await Promise.all(reasons)).toEqual(['SUPERSEDED', 'SUPERSEDED']);
  expect(second.kinds(attaching)).not.toContain('ended');
});

test.concurrent('a session leaves its leases to their ends when its stream ends', async () => {
  const one = session();
  const { lease } = await granted(one, 'left', 1500);
  one.close();
  const client = pair.first.client();
  await eventuallyPasses('the expiry of the lease', async () => {
    expect((await client.get('left')).holderCount).toBe(0);
  });
  expect(await client.release(lease.leaseId)).toMatchObject({ released: false });
});

test.concurrent.each([
  ['a heartbeat that does not rise', { heartbeatId: 1n }, 'INVALID_FIELD'],
  [
    'a second start',
    { start: { clientId: randomUUID(), sessionNumber: 2n, holderId: '', metadata: new Map() } },
    'INVALID_FIELD',
  ],
  ['a command without an id', { commands: [{ commandId: 0n, command: undefined }] }, 'INVALID_FIELD'],
  [
    'too many commands',
    {
      commands: Array.from({ length: 1001 }, (_, i) => ({ commandId: BigInt(i + 1), command: undefined })),
    },
    'QUOTA_EXCEEDED',
  ],
] as const)('a session that breaks a rule ends with %s', async (_, message, reason) => {
  const one = session({ heartbeatMs: 0 });
  await eventually('started', () => one.responses.length > 0);
  one.send(message as object);
  expect((await one.ending).reason).toBe(reason);
});

test.concurrent('a session that breaks a rule ends with an invalid start', async () => {
  const one = session({ heartbeatMs: 0, start: { clientId: 'nobody' } });
  const { reason, text } = await one.ending;
  expect([reason, text]).toEqual(['INVALID_FIELD', expect.stringContaining('start.client_id')]);
});

test.concurrent('a server that drains asks its sessions to leave, and no lease is lost', async () => {
  const moving = await ServerPair.start({ HOLDFAST_DRAIN_TIMEOUT: '20s' });
  const clientId = randomUUID();
  const old = session({ start: { clientId } }, moving.first);
  const { number, lease } = await granted(old, 'drained');
  const waiting = old.run(lock('drained'));
  await old.event(waiting, 'queued');
  const drained = moving.first.drain();
  await eventually('leaving', () => old.responses.some(({ leaving }) => leaving !== undefined));
  expect((await old.event(waiting, 'failed')).reasonText).toBe('DRAINING');
  const next = session({ start: { clientId, sessionNumber: 2n } }, moving.second);
  const attaching = next.run(attach(lease.leaseId));
  await next.event(attaching, 'granted');
  expect(await old.event(number, 'ended')).toEqual({ cause: SessionEndCause.SESSION_END_CAUSE_SUPERSEDED });
  expect((await old.ending).reason).toBe('DRAINING');
  await drained;
  next.run(release(attaching));
  await next.event(attaching, 'ended');
  next.close();
  await moving.close();
});

test.concurrent('a session outlasts HOLDFAST_STREAM_MAX_AGE, with its leases and its waits', async () => {
  const aging = await ServerPair.start({ HOLDFAST_STREAM_MAX_AGE: '1s' });
  const [holder, waiter] = [session({}, aging.first), session({}, aging.second)];
  const { number } = await granted(holder, 'long');
  const waiting = waiter.run(lock('long'));
  await waiter.event(waiting, 'queued');
  const stream = aging.first.client().hold({ name: 'aged' });
  expect((await stream.ending).reason).toBe('REATTACH');
  await sleep(2000);
  expect([holder.kinds(number), waiter.kinds(waiting)]).toEqual([['granted'], ['queued']]);
  holder.run(release(number));
  await waiter.event(waiting, 'granted');
  for (const one of [holder, waiter]) one.close();
  await aging.close();
});

test.concurrent(
  'a session on a connection of the maximum age moves to a new connection, and no lease is lost',
  async () => {
    const aging = await ServerPair.start({ HOLDFAST_CONNECTION_MAX_AGE: '3s' });
    const clientId = randomUUID();
    const old = session({ start: { clientId } }, aging.first);
    const { number, lease } = await granted(old, 'aged');
    await eventually('leaving', () => old.responses.some(({ leaving }) => leaving !== undefined));
    const next = session({ start: { clientId, sessionNumber: 2n } }, aging.first);
    const attaching = next.run(attach(lease.leaseId));
    expect((await next.event(attaching, 'granted')).lease?.fencingToken).toBe(lease.fencingToken);
    expect(await old.event(number, 'ended')).toEqual({ cause: SessionEndCause.SESSION_END_CAUSE_SUPERSEDED });
    expect((await old.ending).reason).toBe('REATTACH');
    next.run(release(attaching));
    await next.event(attaching, 'ended');
    next.close();
    await aging.close();
  },
);
