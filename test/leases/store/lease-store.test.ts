import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Resource } from '../../../src/leases/lease';
import type { RevokeCursor } from '../../../src/leases/lease-store';
import { RedisLeaseStore } from '../../../src/leases/redis/redis-lease-store';
import { bucketOf } from '../../../src/redis/buckets';
import { namesKeys } from '../../../src/leases/redis/lease-keys';
import type { Commands, GuardedReply } from '../../../src/redis/commands';
import type { AnsweringNode } from '../../../src/redis/node/confirmations';
import type { Reply } from '../../../src/redis/script';
import { LeaseFixture } from '../../support/leases/lease-fixture';
import { PREFIX } from '../../support/leases/lease-server';
import { allListed, sortedNames } from '../../support/leases/lease-views';
import { is } from '../../support/reply-kinds';
import { ROOT } from '../../support/root';

const RESOURCE = { service: 'semaphore', name: 'gpu' } as const;
const ALL = { kind: 'all-holders' } as const;
const TOKEN = { kind: 'token', fencingToken: 7n } as const;

const replyOf = (word: string, values: Reply[] = [], isRepeated = false): GuardedReply => ({
  ...{ word, followUp: 'none', news: [], redisTimeMs: 0, pauseMs: 0, values, sentAt: 0, isRepeated },
});
const cursor = (pass: string, requestId: string): Reply => ['9', pass, '5', requestId];

/** A store over commands that give these replies, one after the other. `confirmed` counts the waits for replicas. */
function storeWith(replies: readonly GuardedReply[]) {
  const left = [...replies];
  const state = { confirmed: 0 };
  const by = { confirm: () => Promise.resolve(void (state.confirmed += 1)) } as unknown as AnsweringNode;
  const send: Commands['send'] = async ({ read }) => read(left.shift() as never, 0, by);
  const store = new RedisLeaseStore({
    commands: { send } as Commands,
    guard: 'of-node',
    prefix: 'test',
    serverId: 's1',
    retentionMs: 1000,
    commandTimeoutMs: 1000,
  });
  return { store, state };
}

describe('a revocation in the store of Redis', () => {
  it('waits for replicas at the end of each pass only', async () => {
    const { store, state } = storeWith([
      replyOf('REVOKED', ['64', '0', cursor('first', 'a')]),
      replyOf('REVOKED', ['3', '0', cursor('later', '')]),
      replyOf('REVOKED', ['0', '0', cursor('later', 'a')]),
      replyOf('REVOKED', ['0', '0', []]),
    ]);
    const confirmed: number[] = [];
    let after: RevokeCursor | undefined;
    do {
      const reply = await store.revoke(RESOURCE, { target: ALL, force: false, after });
      confirmed.push(state.confirmed);
      after = reply.kind === 'revoked' ? reply.next : undefined;
    } while (after);
    expect(confirmed).toEqual([0, 1, 1, 2]);
  });

  it.each([
    ['nothing', replyOf('REVOKED', ['0', '0', []])],
    ['no semaphore', replyOf('UNKNOWN')],
  ])(
    'waits for replicas if it finds %s, because an earlier try may have revoked leases',
    async (_, reply) => {
      const { store, state } = storeWith([reply]);
      await store.revoke(RESOURCE, { target: TOKEN, force: true, after: undefined });
      expect(state.confirmed).toBe(1);
    },
  );

  it('is in doubt if a repeated command was answered with AGAIN, because the first may have revoked leases', async () => {
    const { store } = storeWith([replyOf('AGAIN', [], true), replyOf('REVOKED', ['0', '0', []])]);
    const revoking = store.revoke(RESOURCE, { target: TOKEN, force: true, after: undefined });
    await expect(revoking).rejects.toMatchObject({ carriedOut: 'unknown' });
  });

  it('is in doubt if a repeated command finds no semaphore or no lease with the token', async () => {
    for (const reply of [replyOf('UNKNOWN', [], true), replyOf('REVOKED', ['0', '0', []], true)]) {
      const { store } = storeWith([reply]);
      const revoking = store.revoke(RESOURCE, { target: TOKEN, force: false, after: undefined });
      await expect(revoking).rejects.toMatchObject({ carriedOut: 'unknown' });
    }
  });
});

/** Not in test/leases/scripts: in the mutation run every script writes marks, which Redis refuses here. */
describe('while Redis refuses writes because its replica is gone, a watch', () => {
  let fixture: LeaseFixture;
  beforeAll(async () => {
    fixture = await LeaseFixture.open({ frozenClock: true });
  });
  afterEach(() => setReplicas(0));
  afterAll(() => fixture.close());

  const setReplicas = (count: number) =>
    fixture.redis.command('CONFIG', 'SET', 'min-replicas-to-write', String(count));

  it('shows the state with the time until the earliest end, and the end of the lease', async () => {
    const { store } = await fixture.server('s1');
    const lock = fixture.resource();
    is('granted', await (await fixture.request('s1', lock, { holderId: 'alice', ttlMs: 7000 })).try());
    await setReplicas(1);
    const { view, earliestEndMs } = await store.watch(lock);
    expect(view).toEqual(await store.inspect(lock));
    expect(view.holders).toMatchObject([{ holderId: 'alice' }]);
    expect(earliestEndMs).toBeCloseTo(7000, 2);
    expect((await fixture.stored(lock)).watchers).toEqual({});
    await setReplicas(0);
    await fixture.passInUse(lock, 7000);
    await setReplicas(1);
    expect((await store.watch(lock)).view.holderCount).toBe(0);
  });

  it('registers the server when Redis accepts writes again', async () => {
    const { store } = await fixture.server('s1');
    const lock = fixture.resource();
    await setReplicas(1);
    await store.watch(lock);
    await setReplicas(0);
    await store.watch(lock);
    expect(Object.keys((await fixture.stored(lock)).watchers)).toEqual(['s1']);
  });

  it('fails for a bucket with leases of another layout', async () => {
    const { store } = await fixture.server('s1');
    const lock = fixture.resource();
    const key = fixture.epochKey(lock);
    const epoch = (await fixture.redis.command('GET', key)) as string;
    await fixture.redis.command('SET', key, `L9:${'f'.repeat(40)} a 60000 0`);
    try {
      await setReplicas(1);
      await expect(store.watch(lock)).rejects.toMatchObject({ carriedOut: 'no', kind: 'unavailable' });
    } finally {
      await setReplicas(0);
      await fixture.redis.command('SET', key, epoch);
    }
  });
});

/** The script in the step that puts set limits into the index, for the prefix of the tests. */
function documentedScript(): string {
  const page = readFileSync(join(ROOT, 'docs/operations/upgrade.md'), 'utf8');
  const text = /redis-cli -e EVAL "(.*?)" 0 "\$cursor"/s.exec(page)?.[1];
  if (text === undefined) throw new Error('docs/operations/upgrade.md lacks the step');
  return text.replace("'holdfast:{*}", `'${PREFIX}:{*}`);
}

describe('the step of docs/operations/upgrade.md for set limits', () => {
  let fixture: LeaseFixture;
  beforeAll(async () => {
    fixture = await LeaseFixture.open();
  });
  afterAll(() => fixture.close());

  async function runStep(): Promise<void> {
    let cursor = '0';
    do {
      cursor = String(await fixture.redis.command('EVAL', documentedScript(), '0', cursor));
    } while (cursor !== '0');
  }

  async function listed(): Promise<string[]> {
    return sortedNames(await allListed((await fixture.server('s1')).store, 'semaphore'));
  }

  /** Runs a command for each item, at most 100 at the same time. */
  async function together<Item>(
    items: readonly Item[],
    run: (item: Item) => Promise<unknown>,
  ): Promise<void> {
    for (let from = 0; from < items.length; from += 100)
      await Promise.all(items.slice(from, from + 100).map(run));
  }

  it('brings semaphores with a set limit back into lists, whatever their names are', async () => {
    const names = ['gpu', 'with space', `"it's"`, 'x}:s:limit:y', '{a}', ':limit:', 'ä€\u{1F600}', '\\n$(x)'];
    // More keys than one script looks at.
    for (let i = 0; i < 1200; i += 1) names.push(`many-${i}`);
    const semaphores = names.map((name): Resource => ({ service: 'semaphore', name }));
    await together(semaphores, async (semaphore) => is('set', await fixture.setLimit(semaphore, 3)));
    // Such a key looks like a limit to the pattern of SCAN.
    const lock = { service: 'lock', name: 'x}:s:limit:y' } as const;
    is('granted', await (await fixture.request('s1', lock)).try());
    await together(semaphores, (semaphore) => {
      const [index] = namesKeys(PREFIX, 'semaphore', bucketOf(semaphore.name));
      return fixture.redis.command('DEL', index, fixture.key(semaphore, 'state'));
    });
    expect(await listed()).toEqual([]);
    await runStep();
    expect(await listed()).toEqual([...names].sort());
    await runStep();
    expect(await listed()).toEqual([...names].sort());
    const keys = (await fixture.redis.command('KEYS', '*:s2:names')) as string[];
    const buckets = new Set(names.map((name) => bucketOf(name)));
    expect(keys).toHaveLength(buckets.size);
  });
});
