import { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AuditLog } from '../../src/access/audit';
import { QuotaRules } from '../../src/access/policy';
import { QUOTA_NAMES } from '../../src/base/accounts';
import { Callers } from '../../src/base/callers';
import { Lanes, Slots } from '../../src/flow/lanes';
import { CallerCounts } from '../../src/rpc/caller-counts';
import { NO_LOG } from '../support/fake-call';
import { ManualClock, settled } from '../support/manual-clock';
import { ROOT } from '../support/root';

describe('quota rules', () => {
  test('security.md has a row for each quota', () => {
    const text = readFileSync(join(ROOT, 'docs/operations/security.md'), 'utf8');
    const [, after = ''] = text.split('## Quotas');
    const rows = [...after.matchAll(/^\| `(\w+)` +\|/gm)].map(([, name]) => name);
    expect(rows).toEqual(QUOTA_NAMES);
  });

  test('for each quota, the first rule decides that matches the identity and has the quota', () => {
    const rules = new QuotaRules(
      [
        { identities: ['token:batch-*'], leases: 10 },
        { identities: ['token:batch-1', 'spiffe://example.org/*'], leases: 99, waiters: 5 },
        { waiters: 50, streams: 7 },
      ],
      { streams: 1000, commands_per_second: 200 },
    );
    expect(rules.quotasOf('token:batch-1')).toEqual({
      leases: 10,
      waiters: 5,
      streams: 7,
      commands_per_second: 200,
    });
    expect(rules.quotasOf('token:batch-2')).toMatchObject({ leases: 10, waiters: 50 });
    expect(rules.quotasOf('spiffe://example.org/a')).toMatchObject({ leases: 99, waiters: 5 });
    // A star stops at a slash.
    expect(rules.quotasOf('spiffe://example.org/a/b').leases).toBeUndefined();
    expect(rules.quotasOf('')).toMatchObject({ waiters: 50, streams: 7, commands_per_second: 200 });
  });

  test('identities share the quotas of an item that counts together, and only those that the item decides', () => {
    const rules = new QuotaRules(
      [
        { identities: ['token:team-vip'], streams: 9 },
        { identities: ['token:team-*'], count: 'together', leases: 5, streams: 3 },
        { waiters: 4, count: 'each' },
      ],
      { sessions: 2 },
    );
    const [one, other, vip, stranger] = ['team-1', 'team-2', 'team-vip', 'x'].map((name) =>
      rules.sharedOf(`token:${name}`),
    );
    expect(one?.leases).toBeDefined();
    expect(other?.leases).toBe(one?.leases);
    expect(vip?.leases).toBe(one?.leases);
    expect(other?.streams).toBe(one?.streams);
    expect(one?.streams).not.toBe(one?.leases);
    expect([vip?.streams, one?.waiters, one?.sessions, stranger?.leases]).toEqual(Array(4).fill(undefined));
  });

  test('a quota of 0 decides too', () => {
    const rules = new QuotaRules([{ identities: ['token:a'], streams: 0 }, { streams: 9 }], {});
    expect(rules.quotasOf('token:a').streams).toBe(0);
  });
});

describe('fair slots', () => {
  /** Work that ends when the test says so. */
  class Works {
    readonly begun: string[] = [];
    private readonly ends = new Map<string, (error?: Error) => void>();

    private readonly lanes: Lanes;

    constructor(
      private readonly slots: Slots,
      atOnce: number,
    ) {
      this.lanes = new Lanes(atOnce);
    }

    start(connection: object, name: string): Promise<string> {
      const work = (): Promise<string> => {
        this.begun.push(name);
        return new Promise((resolve, reject) => {
          this.ends.set(name, (error) => (error ? reject(error) : resolve(name)));
        });
      };
      return this.slots.use(connection, () => this.lanes.run(connection, work));
    }

    async end(name: string, error?: Error): Promise<void> {
      this.ends.get(name)?.(error);
      await settled();
    }
  }

  const flood = {};
  const other = {};

  test('a connection with one piece of work waits behind few pieces of a flood', async () => {
    const works = new Works(new Slots(100, 64), 2);
    const all = Array.from({ length: 20 }, (_, index) => works.start(flood, `flood-${index}`));
    const one = works.start(other, 'other');
    await settled();
    expect(works.begun).toEqual(['flood-0', 'flood-1']);
    await works.end('flood-0');
    await works.end('flood-1');
    await works.end('flood-2');
    expect(works.begun).toContain('other');
    await works.end('other');
    expect(await one).toBe('other');
    for (let index = 3; index < 20; index += 1) await works.end(`flood-${index}`);
    expect(await Promise.all(all)).toHaveLength(20);
  });

  test('failed work passes its place on, and the places are free again after all work', async () => {
    const works = new Works(new Slots(100, 64), 1);
    const first = works.start(flood, 'first').catch((error: Error) => error.message);
    const second = works.start(flood, 'second');
    await settled();
    await works.end('first', new Error('failed'));
    expect(await first).toBe('failed');
    expect(works.begun).toEqual(['first', 'second']);
    await works.end('second');
    await second;
    void works.start(other, 'third');
    await settled();
    expect(works.begun.at(-1)).toBe('third');
  });

  test('work above a bound is refused with OVERLOADED, and does not begin', async () => {
    const works = new Works(new Slots(3, 2), 1);
    void works.start(flood, 'a');
    void works.start(flood, 'b');
    await expect(works.start(flood, 'c')).rejects.toMatchObject({ reason: 'OVERLOADED' });
    void works.start(other, 'd');
    await expect(works.start({}, 'e')).rejects.toMatchObject({ reason: 'OVERLOADED' });
    expect(works.begun).toEqual(['a']);
  });
});

describe('caller counts', () => {
  function started(maxCount?: number) {
    const clock = new ManualClock();
    const callers = new Callers(clock, maxCount);
    const counts = new CallerCounts(callers, new AuditLog(NO_LOG, clock));
    return { callers, counts };
  }

  /** An HTTP/2 session as the counts see it. */
  class FakeSession extends EventEmitter {
    destroyed = false;

    end(): void {
      this.destroyed = true;
      this.emit('close');
    }
  }

  test('each connection counts once for each of its callers, until it ends', () => {
    const { counts } = started();
    const [one, two] = [new FakeSession(), new FakeSession()];
    for (let round = 0; round < 3; round += 1) {
      counts.called('token:a', one);
      counts.called('token:b', one);
      counts.called('token:a', two);
    }
    const [a, b] = [counts.of('token:a', one), counts.of('token:b', one)];
    expect([a.connectionCount, b.connectionCount]).toEqual([2, 1]);
    expect([a.callCount, b.callCount]).toEqual([6, 3]);
    one.end();
    expect([a.connectionCount, b.connectionCount]).toEqual([1, 0]);
    // A call of the closed connection may still be in progress.
    counts.called('token:a', one);
    two.end();
    expect([a.connectionCount, a.callCount]).toEqual([0, 7]);
  });

  test('a connection with thousands of callers remembers few of them, and leaves none behind', () => {
    const { callers, counts } = started();
    const session = new FakeSession();
    for (let count = 0; count < 2000; count += 1) counts.called(`jwt:i#${count}`, session);
    const all = () => callers.list({ identity: '', address: '', order: 'calls', count: 5000 }).callers;
    const open = () => all().reduce((sum, { connectionCount }) => sum + connectionCount, 0);
    expect([all().length, open()]).toEqual([2000, 1000]);
    session.end();
    expect(open()).toBe(0);
  });

  test('a caller that has lost its place gets a new one with its next call, and its connection moves along', () => {
    const { callers, counts } = started(4);
    const session = new FakeSession();
    const before = counts.called('token:a', session);
    const others = new FakeSession();
    for (let count = 0; count < 50; count += 1) counts.called(`token:${count}`, others);
    expect(before.hasPlace).toBe(false);
    const after = counts.called('token:a', session);
    expect(after).toMatchObject({ hasPlace: true, callCount: 1, connectionCount: 1 });
    session.end();
    others.end();
    expect([before.connectionCount, after.connectionCount, callers.other.connectionCount]).toEqual([0, 0, 0]);
  });
});
