import type { X509Certificate } from 'node:crypto';
import fc from 'fast-check';
import type { Caller, PresentedCredentials } from '../../src/access/caller';
import { Credentials, tokenDigest } from '../../src/access/credentials';
import { OpenCredentials } from '../../src/access/open-credentials';
import { Policy, type PolicyRule } from '../../src/access/policy';
import { ManualClock } from '../support/manual-clock';
import { assertWithinTime } from '../support/timed-property';

describe('credentials', () => {
  /** Which callers the server knows without a check. */

  const clock = new ManualClock();
  const caller = (identity: string, endsInMs = 1000): Caller => ({
    identity,
    expiresAt: clock.now() + endsInMs,
  });
  const byDigest = (callers: Readonly<Record<string, Caller>>) => {
    const found = new Map(Object.entries(callers).map(([token, one]) => [tokenDigest(token), one]));
    return (digest: string) => found.get(digest);
  };

  const find = jest.fn();
  let certified: Caller | undefined;
  const credentials = new Credentials(
    {
      tokens: { find: byDigest({ good: caller('token:a'), old: caller('token:b', -1) }) },
      jsonWebTokens: { find, known: byDigest({ 'a.checked.token': caller('jwt:i#a') }) },
      certificates: { find: () => certified },
    },
    clock,
  );

  const presented = (token?: string): PresentedCredentials => ({
    authorization: token === undefined ? [] : [`Bearer ${token}`],
    connection: {},
    peerCertificate: () => ({ certificate: {} as X509Certificate, problem: undefined }),
  });

  afterEach(() => (certified = undefined));

  test.each([
    ['a token of the file', 'good', true],
    ['a JSON web token that was checked', 'a.checked.token', true],
    ['an expired token', 'old', false],
    ['a wrong token', 'bad', false],
    ['no credential', undefined, false],
  ])('%s (%p) is known: %p', (_title, token, known) => {
    expect(credentials.known(presented(token)) !== undefined).toBe(known);
  });

  test('a JSON web token that was not checked is not known, and no check starts', () => {
    expect(credentials.known(presented('a.new.token'))).toBeUndefined();
    expect(find).not.toHaveBeenCalled();
  });

  test('a client certificate is known until its end, also beside a good token', () => {
    certified = caller('dns:a');
    expect(credentials.known(presented())).toBeDefined();
    certified = caller('dns:a', -1);
    expect([credentials.known(presented()), credentials.known(presented('good'))]).toEqual([
      undefined,
      undefined,
    ]);
  });
});

describe('open credentials', () => {
  class Fixture {
    readonly clock = new ManualClock(10_000);
    readonly open = new OpenCredentials(this.clock);
    readonly ended: string[] = [];

    caller(lifeMs: number): { identity: string; expiresAt: number } {
      return { identity: 'token:alice', expiresAt: this.clock.now() + lifeMs };
    }

    /** Opens a call. Returns the function that reports the end of the call. */
    call(caller: Caller, name: string): () => void {
      const place = this.open.add(caller, { credentialEnded: () => void this.ended.push(name) });
      return () => place.close();
    }
  }

  test('the calls of a caller end within 100 ms after the end of the credential, and not before', async () => {
    const fixture = new Fixture();
    const caller = fixture.caller(5050);
    fixture.call(caller, 'a');
    fixture.call(caller, 'b');
    fixture.call(fixture.caller(60_000), 'other');
    await fixture.clock.advance(5049);
    expect(fixture.ended).toEqual([]);
    await fixture.clock.advance(101);
    expect(fixture.ended).toEqual(['a', 'b']);
  });

  test('a call that has ended is not ended again, and leaves nothing behind', async () => {
    const fixture = new Fixture();
    const done = fixture.call(fixture.caller(1000), 'a');
    done();
    done();
    await fixture.clock.advance(5000);
    expect(fixture.ended).toEqual([]);
    await fixture.clock.advance(10_000);
    expect(fixture.open.size).toBe(0);
  });

  test('a credential without an end never ends its calls, until the credential is withdrawn', async () => {
    const fixture = new Fixture();
    const caller = fixture.caller(Infinity);
    fixture.call(caller, 'a');
    await fixture.clock.advance(10 ** 9);
    expect(fixture.ended).toEqual([]);
    caller.expiresAt = -Infinity;
    fixture.open.changed(caller);
    await fixture.clock.advance(0);
    expect(fixture.ended).toEqual(['a']);
  });

  test('an end that moves is heeded, earlier and later', async () => {
    const fixture = new Fixture();
    const [early, late] = [fixture.caller(10_000), fixture.caller(1000)];
    fixture.call(early, 'early');
    fixture.call(late, 'late');
    early.expiresAt = fixture.clock.now() + 500;
    late.expiresAt = fixture.clock.now() + 5000;
    fixture.open.changed(early);
    fixture.open.changed(late);
    await fixture.clock.advance(2000);
    expect(fixture.ended).toEqual(['early']);
    await fixture.clock.advance(3200);
    expect(fixture.ended).toEqual(['early', 'late']);
  });

  test.each(['first', 'second'])('a call with two credentials ends once, when the %s ends', async (early) => {
    const fixture = new Fixture();
    const parts = [fixture.caller(1000), fixture.caller(5000)];
    if (early === 'second') parts.reverse();
    fixture.call({ identity: 'token:alice', expiresAt: 1000, parts }, 'a');
    const done = fixture.call({ identity: 'token:alice', expiresAt: 1000, parts }, 'done');
    done();
    await fixture.clock.advance(1101);
    expect(fixture.ended).toEqual(['a']);
    await fixture.clock.advance(20_000);
    expect(fixture.ended).toEqual(['a']);
    expect(fixture.open.size).toBe(0);
  });

  test('many calls of one credential end in several turns of the event loop', async () => {
    const fixture = new Fixture();
    const caller = fixture.caller(100);
    for (let count = 0; count < 200; count += 1) fixture.call(caller, 'a');
    await fixture.clock.advance(201);
    expect(fixture.ended.length).toBeLessThan(200);
    while (fixture.ended.length < 200) await new Promise(setImmediate);
  });

  test('in any order of calls and ends, exactly the calls of ended credentials end', async () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('open' as const), caller: fc.nat(4) }),
      fc.record({ kind: fc.constant('close' as const), call: fc.nat(30) }),
      fc.record({
        kind: fc.constant('move' as const),
        caller: fc.nat(4),
        lifeMs: fc.integer({ min: -500, max: 3000 }),
      }),
      fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(900) }),
    );
    await assertWithinTime(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const fixture = new Fixture();
        const callers = Array.from({ length: 5 }, (_, index) => fixture.caller(500 + index * 700));
        const calls: {
          caller: (typeof callers)[number];
          close: () => void;
          state: 'open' | 'closed' | 'ended';
        }[] = [];
        for (const one of steps) {
          if (one.kind === 'open') {
            const caller = callers[one.caller]!;
            const call = { caller, state: 'open' as 'open' | 'closed' | 'ended', close: () => undefined };
            const place = fixture.open.add(caller, { credentialEnded: () => void (call.state = 'ended') });
            calls.push(Object.assign(call, { close: () => place.close() }));
          } else if (one.kind === 'close') {
            const call = calls[one.call];
            if (call?.state === 'open') {
              call.state = 'closed';
              call.close();
            }
          } else if (one.kind === 'move') {
            const caller = callers[one.caller]!;
            caller.expiresAt = fixture.clock.now() + one.lifeMs;
            fixture.open.changed(caller);
          } else {
            await fixture.clock.advance(one.ms);
          }
          for (const { caller, state } of calls) {
            const now = fixture.clock.now();
            if (state === 'open')
              expect(caller.expiresAt).toBeGreaterThan(one.kind === 'wait' ? now - 100 : -Infinity);
          }
        }
        await fixture.clock.advance(10_000);
        expect(calls.every(({ state }) => state !== 'open')).toBe(true);
        await fixture.clock.advance(10_000);
        expect(fixture.open.size).toBe(0);
      }),
    );
  });
});

describe('allowed places', () => {
  /** Places of names that may be read, for lists that pass over all other names. */

  function permissions(rules: Readonly<Record<string, boolean>>) {
    const policy = new Policy(
      Object.entries(rules).map(([name, isAllowed]): PolicyRule => ({
        identities: ['token:a'],
        services: ['LockService'],
        names: [name],
        allow: isAllowed ? ['read'] : ['use'],
      })),
    ).permissionsOf('token:a');
    return {
      mayRead: (name: string) => policy.allows('LockService', 'read', name),
      next: (name: string) => policy.nextReadable('LockService', name),
    };
  }

  const compare = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other));

  test('the next place lies shortly before the next allowed prefix', () => {
    const { next } = permissions({ 'billing/': true, 'ops/': true });
    expect(next('a')).toBe('billing.\u{10FFFF}');
    expect(next('billing0')).toBe('ops.\u{10FFFF}');
    expect(next('opt')).toBeUndefined();
  });

  test('the next place lies behind a denied prefix among allowed names', () => {
    const { next } = permissions({ '': true, 'secret/': false, 'secret/public/': true });
    expect(next('secret/a')).toBe('secret/public.\u{10FFFF}');
    expect(next('secret/q')).toBe('secret/\u{10FFFF}');
  });

  test('no place follows without a rule', () => {
    expect(permissions({}).next('')).toBeUndefined();
    expect(permissions({ 'a/': false }).next('')).toBeUndefined();
  });

  test('no readable name lies between an unreadable name and its next place, and the place is not before the name', () => {
    const unit = fc.constantFrom('a', 'b', '/', '\u0000', '\uD7FF', '\uE000', '\uFFFF', '😀', '\u{10FFFF}');
    const text = fc.string({ unit, maxLength: 5 });
    assertWithinTime(
      fc.property(
        fc.dictionary(text, fc.boolean(), { maxKeys: 6 }),
        fc.array(text, { minLength: 5, maxLength: 12 }),
        (rules, texts) => {
          const { mayRead, next } = permissions(rules);
          const prefixes = Object.keys(rules);
          const names = [
            ...texts,
            ...prefixes,
            ...prefixes.flatMap((one) => texts.map((rest) => one + rest)),
          ];
          const readable = names.filter(mayRead);
          for (const name of names.filter((one) => !mayRead(one))) {
            const place = next(name);
            if (place !== undefined) expect(compare(place, name)).toBeGreaterThanOrEqual(0);
            const missed = readable.filter(
              (one) => compare(one, name) > 0 && (place === undefined || compare(one, place) <= 0),
            );
            expect(missed).toEqual([]);
          }
        },
      ),
    );
  });
});
