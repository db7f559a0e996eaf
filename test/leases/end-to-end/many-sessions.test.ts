import { randomUUID } from 'node:crypto';
import { SessionEndCause } from '../../../generated/typescript/holdfast/v1/session_service';
import { InProcessServer } from '../../end-to-end/in-process-server';
import { ServerPair } from '../../end-to-end/server-pair';
import {
  attach,
  lock,
  release,
  SessionStream,
  type SessionStreamOptions,
} from '../../support/clients/session-stream';
import { eventually } from '../../support/eventually';
import { RedisProcess } from '../../support/processes/redis-process';

let pair: ServerPair;
const open: SessionStream[] = [];
beforeAll(async () => {
  pair = await ServerPair.start();
});
afterAll(async () => {
  for (const one of open) one.close();
  await pair?.close();
});

describe('many commands', () => {
  /** Commands of sessions about one lease or one request, and messages at their bounds, on a real Redis. */

  function session(options: SessionStreamOptions = {}, server = pair.first): SessionStream {
    const one = new SessionStream(server.address, options);
    open.push(one);
    return one;
  }

  const LONG_MS = 60_000;
  const SUPERSEDED = { cause: SessionEndCause.SESSION_END_CAUSE_SUPERSEDED };

  async function held(one: SessionStream, name: string) {
    const number = one.run(lock(name, { ttlMs: LONG_MS }));
    const { lease } = await one.event(number, 'granted');
    return { number, leaseId: lease?.leaseId ?? '', token: lease?.fencingToken };
  }

  test('the later of two commands with one request_id has the lease', async () => {
    const one = session();
    const requestId = randomUUID();
    const first = one.run(
      lock('twice', { requestId, ttlMs: LONG_MS }),
      lock('twice', { requestId, ttlMs: LONG_MS }),
    );
    await one.event(first + 1, 'granted');
    expect(await one.event(first, 'ended')).toEqual(SUPERSEDED);
    const releasing = one.run(release(first), release(first + 1));
    expect((await one.event(releasing, 'failed')).reasonText).toBe('LEASE_NOT_HELD');
    expect(await one.event(releasing + 1, 'released')).toMatchObject({ released: true });
  });

  test('the later of two waits with one request_id continues', async () => {
    const [holder, one] = [session(), session()];
    const { number } = await held(holder, 'waits twice');
    const requestId = randomUUID();
    const first = one.run(lock('waits twice', { requestId }), lock('waits twice', { requestId }));
    expect((await one.event(first, 'failed')).reasonText).toBe('SUPERSEDED');
    holder.run(release(number));
    await one.event(first + 1, 'granted');
  });

  test('attaches of two sessions to one lease leave one owner, and every other attach ends', async () => {
    const [one, two] = [session(), session({}, pair.second)];
    const { leaseId, token } = await held(one, 'storm');
    const storm = Array.from({ length: 50 }, () => attach(leaseId));
    const first = one.run(...storm);
    const second = two.run(...storm);
    const answered = (from: SessionStream, id: number) =>
      storm.every((_, i) => from.kinds(id + i).length > 0);
    await eventually('the answers', () => answered(one, first) && answered(two, second));
    const owners = () =>
      [one, two].flatMap(({ events }) => {
        const ended = new Set(
          events.filter(({ event }) => event.$case === 'ended').map(({ commandId }) => commandId),
        );
        return events.filter(({ commandId, event }) => event.$case === 'granted' && !ended.has(commandId));
      });
    await eventually('one owner', () => owners().length === 1);
    const owner = owners()[0]?.event;
    expect(owner).toMatchObject({ value: { lease: { fencingToken: token } } });
  });

  test('a lease may be released twice, and its number names no lease in another session', async () => {
    const [one, other] = [session(), session()];
    const { number, leaseId } = await held(one, 'released twice');
    expect((await other.event(other.run(release(number)), 'failed')).reasonText).toBe('LEASE_NOT_HELD');
    const first = one.run(release(number), release(number));
    expect(await one.event(first, 'released')).toMatchObject({ released: true });
    expect(await one.event(first + 1, 'released')).toMatchObject({ released: true });
    const late = one.run(release(number), {
      $case: 'release',
      value: { lease: { $case: 'leaseId', value: leaseId } },
    });
    expect((await one.event(late, 'failed')).reasonText).toBe('LEASE_NOT_HELD');
    expect(await one.event(late + 1, 'released')).toMatchObject({ released: true });
    expect(one.kinds(number).filter((kind) => kind === 'ended')).toHaveLength(1);
  });

  test('a message below 1 MiB is read, and a larger message ends the session', async () => {
    const one = session({ heartbeatMs: 0 });
    const sized = (bytes: number) => lock('size', { metadata: new Map([['key', 'x'.repeat(bytes)]]) });
    const first = one.run(sized(2 ** 20 - 300));
    expect((await one.event(first, 'failed')).reasonText).toBe('INVALID_FIELD');
    one.run(sized(2 ** 20));
    expect((await one.ending).reason).toBe('QUOTA_EXCEEDED');
  });

  test('a message with a thousand commands leaves the leases of other sessions renewed', async () => {
    const [other, one] = [session(), session()];
    const { number } = await held(other, 'beside many');
    const names = Array.from({ length: 1000 }, (_, index) => lock(`many ${index}`, { ttlMs: LONG_MS }));
    one.run(...names);
    await eventually('a thousand answers', () => one.events.length === names.length);
    const of = (kind: string) => one.events.filter(({ event }) => event.$case === kind);
    // A busy machine refuses some of the acquires with OVERLOADED.
    const leases = of('granted').map(({ commandId }) => commandId);
    expect(leases).not.toEqual([]);
    one.run(...leases.map((lease) => release(lease)));
    await eventually('the ends', () => of('ended').length === leases.length);
    expect(other.kinds(number)).toEqual(['granted']);
  });
});

describe('session numbers', () => {
  /** The commands of sessions of one process, by session_number, on a real Redis. See docs/design/sessions.md. */

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
    const [attaching, acquiring] = [pair.first, pair.second].map((at) =>
      session(clientId, sessionNumber, at),
    );
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
});

describe('store lost', () => {
  /** What a session tells its client when the store loses its data or does not answer. */

  /** A session with a lease, whose server has a Redis of its own. */
  const withLease =
    (run: (redis: RedisProcess, one: SessionStream, number: number) => Promise<void>) => async () => {
      const redis = await RedisProcess.start();
      const server = await InProcessServer.start(redis.url, { HOLDFAST_COMMAND_TIMEOUT: '2s' });
      const one = new SessionStream(server.address);
      try {
        const number = one.run(lock('hello', { ttlMs: 6000 }));
        await one.event(number, 'granted');
        await run(redis, one, number);
      } finally {
        one.close();
        await server.closeDespiteWarnings();
        await redis.close();
      }
    };

  test.concurrent(
    'a lease that the store has deleted ends with STORE_RESET at the next renewal',
    withLease(async (redis, one, number) => {
      for (const key of (await redis.command('KEYS', '*state:hello')) as string[])
        await redis.command('DEL', key);
      expect((await one.event(number, 'ended')).cause).toBe(SessionEndCause.SESSION_END_CAUSE_STORE_RESET);
    }),
  );

  test.concurrent(
    'a lease ends with STORE_UNAVAILABLE while Redis is stopped, after a warning',
    withLease(async (redis, one, number) => {
      await redis.stop();
      try {
        await one.event(number, 'renewalFailed');
        expect((await one.event(number, 'ended')).cause).toBe(
          SessionEndCause.SESSION_END_CAUSE_STORE_UNAVAILABLE,
        );
      } finally {
        await redis.cont();
      }
    }),
  );
});
