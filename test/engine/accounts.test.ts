import fc from 'fast-check';
import type { Account } from '../../src/engine/account';
import { Accounts } from '../../src/engine/accounts';
import { HoldfastError } from '../../src/engine/errors';
import type { Quotas } from '../../src/engine/quotas';
import { ManualClock } from '../support/manual-clock';

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
    fc.assert(
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
