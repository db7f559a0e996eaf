import type { Quarantine } from '../../src/base/store-state';
import { type Phase, probePages } from '../../src/server/admin';
import { FakeStore } from '../contract/fake-engines';

/** The pages `/livez` and `/readyz`. */

interface Situation {
  readonly phase?: Phase;
  readonly unloadedCount?: number;
  readonly reachable?: boolean;
  readonly suitable?: boolean;
  readonly warnings?: readonly string[];
  readonly quarantine?: Quarantine;
}

async function answer(
  path: string,
  { phase = 'serving', unloadedCount = 0, ...health }: Situation,
  connected = true,
) {
  const store = Object.assign(new FakeStore(), { warnings: [], ...health });
  const pages = probePages({ phase, unloadedCount, store: connected ? store : undefined });
  const { status, body } = await pages[path]!();
  return [status, JSON.parse(body)] as const;
}

test('/livez answers 200 whatever the store does', async () => {
  expect(await answer('/livez', { reachable: false })).toEqual([200, { live: true }]);
  expect(await answer('/livez', { phase: 'starting' }, false)).toEqual([200, { live: true }]);
});

test('/readyz answers 200 while the store answers', async () => {
  expect(await answer('/readyz', {})).toEqual([200, { ready: true }]);
});

test('/readyz answers 200 in a quarantine, and says that grants are paused', async () => {
  const quarantine = { cause: 'restarted', remainingMs: 4200 } as const;
  expect(await answer('/readyz', { quarantine })).toEqual([
    200,
    { ready: true, grants: 'paused: quarantine (restarted), 5 s left' },
  ]);
});

test.each<readonly [Situation, boolean, readonly string[]]>([
  [{ phase: 'starting' }, false, ['the server is starting']],
  [{ unloadedCount: 2 }, true, ['dictionaries of HOLDFAST_PRELOAD that are not loaded yet: 2']],
  [{ phase: 'draining' }, true, ['the server is draining']],
  [{ reachable: false, warnings: ['maxmemory'] }, true, ['the store does not answer']],
  [
    { suitable: false, warnings: ['maxmemory-policy is allkeys-lru'] },
    true,
    ['the store may drop leases', 'maxmemory-policy is allkeys-lru'],
  ],
])('/readyz answers 503 with the reasons: %j', async (situation, connected, reasons) => {
  expect(await answer('/readyz', situation, connected)).toEqual([503, { ready: false, reasons }]);
});
