import fc from 'fast-check';
import { type QuotaRule, QuotaRules } from '../../src/access/policy';
import { type Account, Accounts, type Quotas } from '../../src/base/accounts';
import { type CallerOrder, type CallerQuery, Callers } from '../../src/base/callers';
import { HoldfastError } from '../../src/base/errors';
import { ManualClock } from '../support/manual-clock';
import { assertWithinTime } from '../support/timed-property';

function started(quotas: Quotas) {
  const clock = new ManualClock(1_000_000);
  const accounts = new Accounts({ quotasOf: () => quotas }, clock);
  return { clock, accounts };
}

/** Undefined: the account allows the act. */
function refusalOf(act: () => void): HoldfastError | undefined {
  try {
    act();
  } catch (error) {
    if (error instanceof HoldfastError) return error;
    throw error;
  }
  return undefined;
}

const takeMany = (account: Account, count: number): number => {
  let taken = 0;
  for (let tries = 0; tries < count; tries++) {
    if (refusalOf(() => account.takeCommand()) === undefined) taken += 1;
  }
  return taken;
};

describe('the quota of commands per second', () => {
  it.each([1, 3, 7, 1000, 30_000])('of %s allows all commands of one second at the same moment', (limit) => {
    const { accounts } = started({ commands_per_second: limit });
    expect(takeMany(accounts.of('token:a', {}), limit + 5)).toBe(limit);
  });

  it('tells the caller when the next command is allowed, and allows the command at that time', async () => {
    const { clock, accounts } = started({ commands_per_second: 4 });
    const account = accounts.of('token:a', {});
    takeMany(account, 4);
    const refusal = refusalOf(() => account.takeCommand());
    expect(refusal).toMatchObject({
      reason: 'QUOTA_EXCEEDED',
      details: { metadata: { quota: 'commands_per_second', limit: '4' }, retryAfterMs: 250 },
    });
    expect(refusal?.message).toContain('token:a sends more than its quota of 4 commands per second');
    await clock.advance(249);
    expect(takeMany(account, 1)).toBe(0);
    await clock.advance(1);
    expect(takeMany(account, 2)).toBe(1);
  });

  it('allows at most two seconds of commands in any second, and one second of commands after a second without commands', () => {
    const steps = fc.array(fc.tuple(fc.nat(700), fc.nat(30)), { minLength: 1, maxLength: 60 });
    assertWithinTime(
      fc.property(fc.integer({ min: 1, max: 40 }), steps, (limit, acts) => {
        const { clock, accounts } = started({ commands_per_second: limit });
        const account = accounts.of('token:a', {});
        const taken: { at: number; count: number }[] = [];
        for (const [pauseMs, count] of acts) {
          clock.pass(pauseMs);
          const hasPaused = taken.every(({ at }) => at <= clock.now() - 1000);
          const got = takeMany(account, count);
          if (hasPaused) expect(got).toBe(Math.min(count, limit));
          taken.push({ at: clock.now(), count: got });
          const inWindow = taken.filter(({ at }) => at > clock.now() - 1000).reduce((a, b) => a + b.count, 0);
          expect(inWindow).toBeLessThanOrEqual(2 * limit);
        }
      }),
    );
  });
});

describe('an account', () => {
  it('is shared by all connections of an identity, and belongs to a single connection without an identity', () => {
    const { accounts } = started({});
    const [one, two] = [{}, {}];
    expect(accounts.of('token:a', one)).toBe(accounts.of('token:a', two));
    expect(accounts.of('token:a', one)).not.toBe(accounts.of('token:b', one));
    expect(accounts.of('', one)).toBe(accounts.of('', one));
    expect(accounts.of('', one)).not.toBe(accounts.of('', two));
  });

  it('refuses streams above the quota, but never a stream that attaches to a lease', () => {
    const { accounts } = started({ streams: 2 });
    const account = accounts.of('token:a', {});
    account.openStream(false);
    account.openStream(true);
    expect(refusalOf(() => account.openStream(false))?.details.metadata).toEqual({
      quota: 'streams',
      limit: '2',
    });
    account.openStream(true);
    account.closeStream();
    account.closeStream();
    expect(refusalOf(() => account.openStream(false))).toBeUndefined();
  });

  it('refuses sessions above the quota, but never the next session of a client process', () => {
    const { accounts } = started({ sessions: 2 });
    const account = accounts.of('token:a', {});
    account.openSession('one');
    account.openSession('two');
    account.openSession('two');
    for (const clientId of ['two', 'three']) {
      expect(refusalOf(() => account.openSession(clientId))?.details.metadata).toEqual({
        quota: 'sessions',
        limit: '2',
      });
    }
    account.closeSession('two');
    expect(refusalOf(() => account.openSession('three'))).toBeDefined();
    account.closeSession('two');
    expect(refusalOf(() => account.openSession('three'))).toBeUndefined();
    for (const clientId of ['one', 'three']) account.closeSession(clientId);
    expect(account.isUnused).toBe(true);
  });

  it('counts a session as a stream and a command, and never refuses the next session of a process because of either quota', () => {
    const { accounts } = started({ streams: 1, commands_per_second: 2 });
    const account = accounts.of('token:a', {});
    account.openSession('one');
    account.openSession('one');
    expect(refusalOf(() => account.openSession('two'))?.details.metadata).toMatchObject({ quota: 'streams' });
    expect(refusalOf(() => account.openSession('two'))?.details.metadata).toMatchObject({
      quota: 'commands_per_second',
    });
    account.closeSession('one');
    expect(refusalOf(() => account.openSession('one'))).toBeUndefined();
  });

  it('keeps its counts when the quotas change', () => {
    const { accounts } = started({ streams: 5 });
    const account = accounts.of('token:a', {});
    for (let count = 0; count < 3; count++) account.openStream(false);
    accounts.replace({ quotasOf: () => ({ streams: 3 }) });
    expect(refusalOf(() => account.openStream(false))).toBeDefined();
    accounts.replace({ quotasOf: () => ({}) });
    expect(refusalOf(() => account.openStream(false))).toBeUndefined();
  });

  it('is forgotten only if it is not used and there are more than 10,000 identities', async () => {
    const { clock, accounts } = started({ streams: 1, commands_per_second: 1 });
    const used = accounts.of('token:used', {});
    used.openStream(false);
    for (let number = 0; number < 20_000; number++) accounts.of(`token:${number}`, {}).takeCommand();
    expect(accounts.size).toBe(20_001);
    await clock.advance(1000);
    for (let number = 0; number < 5000; number++) accounts.of(`token:new-${number}`, {});
    expect(accounts.size).toBeLessThan(11_000);
    expect(accounts.of('token:used', {})).toBe(used);
  });
});

describe('a quota that counts together', () => {
  const team: QuotaRule = { identities: ['token:team-*'], count: 'together' };
  const opened = (rule: QuotaRule) => {
    const clock = new ManualClock(1_000_000);
    const accounts = new Accounts(new QuotaRules([{ ...team, ...rule }], {}), clock);
    return { clock, accounts, of: (name: string) => accounts.of(`token:${name}`, {}) };
  };

  it('bounds the leases, streams and sessions of all its identities, and of no others', () => {
    const { of } = opened({ leases: 2, streams: 3, sessions: 1 });
    of('team-1').requestLease();
    of('team-2').requestLease();
    const refusal = refusalOf(() => of('team-3').requestLease());
    expect(refusal).toMatchObject({
      reason: 'QUOTA_EXCEEDED',
      details: { metadata: { quota: 'leases', limit: '2' } },
    });
    expect(refusal?.message).toContain(
      'token:team-3 and others have reached the quota that they share of 2 leases',
    );
    expect(refusalOf(() => of('other').requestLease())).toBeUndefined();
    of('team-2').leaseCount -= 1;
    expect(refusalOf(() => of('team-3').requestLease())).toBeUndefined();
    of('team-1').openSession('process-1');
    expect(refusalOf(() => of('team-2').openSession('process-2'))).toMatchObject({
      reason: 'QUOTA_EXCEEDED',
    });
    of('team-1').closeSession('process-1');
    of('team-2').openSession('process-2');
    of('team-1').openStream(false);
    of('team-3').openStream(false);
    expect(refusalOf(() => of('team-1').openStream(false))).toMatchObject({ reason: 'QUOTA_EXCEEDED' });
    // A stream that keeps a lease is never refused.
    expect(refusalOf(() => of('team-1').openStream(true))).toBeUndefined();
  });

  it('bounds the waiters and the commands of all its identities', async () => {
    const { of, clock } = opened({ waiters: 1, commands_per_second: 4 });
    of('team-1').waiterCount += 1;
    expect([of('team-2').mayWait, of('other').mayWait]).toEqual([false, true]);
    expect(takeMany(of('team-1'), 3) + takeMany(of('team-2'), 3)).toBe(4);
    const refusal = refusalOf(() => of('team-3').takeCommand());
    expect(refusal?.message).toContain(
      'token:team-3 and others send more than the quota that they share of 4 commands',
    );
    await clock.advance(250);
    expect(takeMany(of('team-3'), 2)).toBe(1);
  });

  it('has the counts of before after a reload, also of identities that are silent', async () => {
    const { of, accounts, clock } = opened({ leases: 100 });
    for (let i = 0; i < 50; i += 1) of(`team-${i}`).requestLease();
    accounts.replace(new QuotaRules([{ ...team, leases: 51 }], {}));
    await clock.advance(1);
    expect(refusalOf(() => of('team-new').requestLease())).toBeUndefined();
    expect(refusalOf(() => of('team-new').requestLease())).toMatchObject({ reason: 'QUOTA_EXCEEDED' });
    // Without the sharing, each identity has its own count again.
    accounts.replace(new QuotaRules([{ identities: ['token:team-*'], leases: 1 }], {}));
    expect(refusalOf(() => of('team-1').requestLease())).toMatchObject({ reason: 'QUOTA_EXCEEDED' });
    expect(refusalOf(() => of('team-other').requestLease())).toBeUndefined();
  });

  it('counts exactly the acts that are open, whatever happens and whenever a reload comes', () => {
    const acts = fc.array(fc.tuple(fc.nat(3), fc.constantFrom('request', 'end', 'reload')), {
      maxLength: 60,
    });
    assertWithinTime(
      fc.property(acts, (steps) => {
        const { of, accounts } = opened({ leases: 5 });
        const held = new Map<number, number>();
        const total = () => [...held.values()].reduce((sum, count) => sum + count, 0);
        for (const [who, act] of steps) {
          const count = held.get(who) ?? 0;
          if (act === 'reload') {
            accounts.replace(new QuotaRules([{ ...team, leases: 5 }], {}));
            for (const one of [0, 1, 2, 3]) void of(`team-${one}`).shared;
          } else if (act === 'end' && count > 0) {
            of(`team-${who}`).leaseCount -= 1;
            held.set(who, count - 1);
          } else if (act === 'request') {
            const isFull = total() >= 5;
            expect(refusalOf(() => of(`team-${who}`).requestLease()) !== undefined).toBe(isFull);
            if (!isFull) held.set(who, count + 1);
          }
        }
      }),
    );
  });
});

describe('the table of callers', () => {
  function started(maxCount?: number) {
    const clock = new ManualClock();
    const callers = new Callers(clock, maxCount);
    const call = (identity: string, address = '10.0.0.1', times = 1) => {
      const caller = callers.of(identity, address);
      for (let count = 0; count < times; count += 1) callers.called(caller);
      return caller;
    };
    const list = (query: Partial<CallerQuery> = {}) =>
      callers.list({ identity: '', address: '', order: 'calls', count: 500, ...query });
    const listed = (query: Partial<CallerQuery> = {}) =>
      list(query).callers.map(({ identity, address }) => `${identity}@${address}`);
    return { clock, callers, call, list, listed };
  }

  test('an identity at two addresses is two callers, and an address of two identities too', () => {
    const { call, listed } = started();
    call('a', '10.0.0.1', 3);
    call('a', '10.0.0.2', 2);
    call('b', '10.0.0.1', 1);
    call('a', '10.0.0.1', 1);
    expect(listed()).toEqual(['a@10.0.0.1', 'a@10.0.0.2', 'b@10.0.0.1']);
    expect(listed({ identity: 'a' })).toEqual(['a@10.0.0.1', 'a@10.0.0.2']);
    expect(listed({ address: '10.0.0.1' })).toEqual(['a@10.0.0.1', 'b@10.0.0.1']);
    expect(listed({ address: '10.0.0.1', identity: 'b' })).toEqual(['b@10.0.0.1']);
  });

  test('the recent counts are of the last 50 to 60 seconds, and the others of all time', async () => {
    const { clock, callers, call, list } = started();
    callers.refused(call('a', '10.0.0.1', 5), 'OVERLOADED');
    const shown = () =>
      list().callers.map((one) => [one.callCount, one.recentCallCount, one.recentRefusalCount]);
    expect([shown(), callers.recentMs]).toEqual([[[5, 5, 1]], 0]);
    await clock.advance(30_000);
    call('a');
    await clock.advance(25_000);
    expect([shown(), callers.recentMs]).toEqual([[[6, 6, 1]], 55_000]);
    await clock.advance(9000);
    expect([shown(), callers.recentMs]).toEqual([[[6, 1, 0]], 54_000]);
    await clock.advance(30_000);
    expect(shown()).toEqual([[6, 0, 0]]);
    await clock.advance(3_600_000);
    call('a');
    expect([shown(), callers.recentMs]).toEqual([[[7, 1, 0]], 54_000]);
  });

  test('a refusal long after the last call is recent', async () => {
    const { clock, callers, call, list } = started();
    const caller = call('a');
    await clock.advance(70_000);
    callers.refused(caller, 'NOT_ALLOWED');
    expect(list().callers.map((one) => one.recentRefusalCount)).toEqual([1]);
  });

  test('the callers who call now come first, whatever others did an hour ago', async () => {
    const { clock, call, listed } = started();
    call('yesterday', '10.0.0.1', 1000);
    await clock.advance(3_600_000);
    call('now', '10.0.0.2', 10);
    expect(listed()).toEqual(['now@10.0.0.2', 'yesterday@10.0.0.1']);
  });

  test.each<[CallerOrder, string]>([
    ['calls', 'caller'],
    ['refusals', 'refused'],
    ['leases', 'holder'],
    ['waiters', 'waiter'],
  ])('by %s, the list begins with the caller that has the most', (order, first) => {
    const { callers, call, listed } = started();
    for (const name of ['holder', 'waiter', 'refused']) call(name);
    call('caller', '10.0.0.1', 9);
    call('holder').leaseCount = 2;
    call('waiter').waiterCount = 2;
    callers.refused(call('refused'), 'QUOTA_EXCEEDED');
    expect(listed({ order, count: 1 })).toEqual([`${first}@10.0.0.1`]);
  });

  test('a page of callers comes with the number of all that match', () => {
    const { call, list } = started();
    for (let count = 0; count < 7; count += 1) call(`c${count}`);
    expect(list({ count: 3 })).toMatchObject({ matchCount: 7, callers: { length: 3 } });
  });

  test('a caller with many calls keeps its place while a hundred thousand addresses come with a call each', () => {
    const { callers, call, listed } = started(256);
    const heavy = call('heavy', '10.0.0.1', 1000);
    for (let count = 0; count < 100_000; count += 1) call('', `2001:db8::${count.toString(16)}`);
    expect(heavy.hasPlace).toBe(true);
    expect(listed({ count: 1 })).toEqual(['heavy@10.0.0.1']);
    expect(callers.size).toBe(256);
    expect(callers.displacedCount).toBe(100_001 - 256);
    expect(callers.other.callCount).toBe(100_001 - 256);
  });

  test('a new flooder gets a place in a table full of quiet callers', () => {
    const { call, listed } = started(256);
    for (let count = 0; count < 5000; count += 1) call('', `10.1.${count >> 8}.${count & 255}`);
    call('flooder', '10.0.0.9', 50);
    expect(listed({ count: 1 })).toEqual(['flooder@10.0.0.9']);
  });

  test('the sums of all callers stay true when callers lose their places, and so do the recent ones', async () => {
    const { clock, callers, call, list } = started(16);
    for (let count = 0; count < 100; count += 1)
      callers.refused(call('', `10.0.0.${count}`, 2), 'BAD_CREDENTIAL');
    await clock.advance(120_000);
    for (let count = 0; count < 100; count += 1) call('', `10.0.1.${count}`);
    const all = [...list().callers, callers.other];
    const sum = (of: (one: (typeof all)[number]) => number) => all.reduce((total, one) => total + of(one), 0);
    expect(sum((one) => one.callCount)).toBe(300);
    expect(sum((one) => one.refusalCount)).toBe(100);
    expect(sum((one) => one.recentCallCount)).toBe(100);
    expect(callers.other.lastRefusal).toBe('BAD_CREDENTIAL');
  });

  test.each(['openCount', 'leaseCount', 'waiterCount'] as const)(
    'a caller with work in progress (%s) keeps its place, and the next caller without one counts as other',
    (count) => {
      const { callers, call } = started(4);
      const busy = ['a', 'b', 'c', 'd'].map((name) => call(name));
      for (const caller of busy) caller[count] = 1;
      expect(call('late', '10.0.0.1', 3)).toBe(callers.other);
      expect([callers.size, callers.displacedCount, callers.other.callCount]).toEqual([4, 1, 3]);
      (busy[2] as (typeof busy)[number])[count] = 0;
      expect(call('later').hasPlace).toBe(true);
      expect(busy.map((caller) => caller.hasPlace)).toEqual([true, true, false, true]);
    },
  );
});
