import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { QUOTA_NAMES } from '../../src/base/accounts';
import { QuotaRules } from '../../src/access/policy';
import { ROOT } from '../support/root';

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
