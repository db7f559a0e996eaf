import { HoldfastError } from '../../../src/base/errors';
import type { ResourceView, Service } from '../../../src/leases/lease';
import {
  FakeCall,
  type FakeCallOptions,
  namesUnder,
  namesWhere,
  RecordedSink,
} from '../../support/fake-call';
import type { ReadableNames } from '../../../src/base/names';
import type { ListRequest, ResourcePage } from '../../../src/leases/lease-requests';
import type { ListStep } from '../../../src/leases/lease-store';
import { EngineFixture, Pending } from '../../support/leases/engine-fixture';
import { settled } from '../../support/manual-clock';
import { free, holder } from '../../support/leases/lease-views';

const FIRST_PAGE: ListRequest = {
  namePrefix: '',
  holderId: '',
  identity: '',
  pageSize: 50,
  pageToken: '',
  order: 'fixed',
};

interface Asked {
  readonly service?: Service;
  readonly names?: ReadableNames;
  readonly options?: FakeCallOptions;
}

function list(
  on: EngineFixture,
  values: Partial<ListRequest> = {},
  { service = 'lock', names, options = {} }: Asked = {},
): Pending<ResourcePage> {
  const call = new FakeCall(on.clock, options);
  const page = on.permits.list(call, service, { ...FIRST_PAGE, ...values }, names);
  return new Pending(call, new RecordedSink(on.clock), page);
}

function view(name: string, values: Partial<ResourceView> = {}): ResourceView {
  return { ...free, name, holderCount: 1, holders: [holder()], ...values };
}

const namesOf = ({ resources }: ResourcePage) => resources.map(({ name }) => name);

describe('a list on a fake store of 4 buckets', () => {
  let on: EngineFixture;
  beforeEach(() => {
    on = EngineFixture.onFakeStore();
  });
  afterEach(() => on.expectRest());

  /** Answers all steps in flight: the names of each bucket, and the last name. Returns the steps. */
  async function answer(
    names: Readonly<Record<number, readonly string[]>>,
    last: Readonly<Record<number, string>> = {},
  ): Promise<ListStep[]> {
    const steps: ListStep[] = [];
    await settled();
    for (const _ of on.store.inFlight) {
      const sent = await on.store.next('listViews');
      const { bucket } = sent.command;
      steps.push(sent.command);
      const items = (names[bucket] ?? []).map((name) => view(name));
      await sent.answer({ items, last: last[bucket] ?? '', examinedCount: items.length });
    }
    return steps;
  }

  it('reads one bucket, then two, then four, as long as each read finishes its buckets', async () => {
    const page = list(on);
    expect((await answer({ 0: ['a', 'b'] })).map(({ bucket }) => bucket)).toEqual([0]);
    expect((await answer({ 1: ['c'], 2: ['d'] })).map(({ bucket }) => bucket)).toEqual([1, 2]);
    expect((await answer({})).map(({ bucket }) => bucket)).toEqual([3]);
    await settled();
    expect(namesOf(page.value)).toEqual(['a', 'b', 'c', 'd']);
    expect(page.value).toMatchObject({ nextPageToken: '', sampled: false });
  });

  it('sends the fields of the request to the store, and asks for as many resources as the page has room for', async () => {
    const connection = {};
    const page = list(
      on,
      { namePrefix: 'a', holderId: 'alice', identity: 'token:a', pageSize: 3 },
      { service: 'semaphore', options: { connection } },
    );
    const filters = { namePrefix: 'a', holderId: 'alice', identity: 'token:a' };
    const common = { service: 'semaphore', ...filters, caller: connection };
    expect(await answer({ 0: ['a1'] })).toEqual([{ ...common, bucket: 0, after: '', mostShown: 3 }]);
    expect(await answer({})).toMatchObject([
      { bucket: 1, mostShown: 2 },
      { bucket: 2, mostShown: 2 },
    ]);
    await answer({});
    expect(namesOf(page.value)).toEqual(['a1']);
  });

  it('continues in an unfinished bucket, and discards the answers of later buckets', async () => {
    const page = list(on);
    await answer({});
    await answer({ 1: ['a'], 2: ['x'] }, { 1: 'a' });
    expect(await answer({ 1: ['b'] })).toMatchObject([{ bucket: 1, after: 'a' }]);
    expect(await answer({ 2: ['x'] })).toMatchObject([
      { bucket: 2, after: '' },
      { bucket: 3, after: '' },
    ]);
    await settled();
    expect(namesOf(page.value)).toEqual(['a', 'b', 'x']);
  });

  it('leaves a bucket after a step without progress', async () => {
    const page = list(on);
    await answer({}, { 0: 'edited' });
    expect(await answer({}, { 0: 'edited' })).toMatchObject([{ bucket: 0, after: 'edited' }]);
    expect(await answer({})).toMatchObject([{ bucket: 1 }, { bucket: 2 }]);
    await answer({});
    await settled();
    expect(namesOf(page.value)).toEqual([]);
  });

  it('continues after the last resource of a full page', async () => {
    const page = list(on, { pageSize: 2 });
    await answer({ 0: ['a'] });
    await answer({ 1: ['b', 'c'], 2: ['d'] });
    await settled();
    expect(namesOf(page.value)).toEqual(['a', 'b']);
    const next = list(on, { pageSize: 2, pageToken: page.value.nextPageToken });
    expect(await answer({ 1: ['c'] })).toMatchObject([{ bucket: 1, after: 'b' }]);
    await answer({ 2: ['d'] });
    await settled();
    expect(namesOf(next.value)).toEqual(['c', 'd']);
  });

  it.each<[string, Partial<ListRequest>, Asked]>([
    ['name_prefix', { namePrefix: 'b' }, {}],
    ['holder_id', { holderId: 'bob' }, {}],
    ['identity to find', { identity: 'token:bob' }, {}],
    ['identity', {}, { options: { identity: 'token:mallory' } }],
    ['service', {}, { service: 'semaphore' }],
    ['order', { order: 'waiter-count' }, {}],
  ])('refuses a token of a request with another %s', async (_, values, asked) => {
    const page = list(on, { pageSize: 1 });
    await answer({ 0: ['b'] });
    await settled();
    const { nextPageToken: pageToken } = page.value;
    const refused = list(on, { pageSize: 1, pageToken, ...values }, asked);
    await settled();
    expect(refused.failure).toMatchObject({
      reason: 'INVALID_FIELD',
      details: { violations: [{ field: 'page_token' }] },
    });
    expect(on.store.inFlight).toEqual([]);
    // The page size may change.
    list(on, { pageSize: 7, pageToken });
    expect(await answer({}, {})).toMatchObject([{ bucket: 0, after: 'b', mostShown: 7 }]);
    await answer({});
    await answer({});
  });

  it('refuses a text that is not a page token', async () => {
    for (const pageToken of ['x', 'AAAA', 'A'.repeat(40_000), '{"bucket":1}', '\u0000', '==']) {
      const refused = list(on, { pageToken });
      await settled();
      expect(refused.failure.reason).toBe('INVALID_FIELD');
    }
    expect(on.store.log).toEqual([]);
  });

  it('leaves out names that the caller may not read, and ends no page at such a name', async () => {
    const names = namesWhere((name) => !name.startsWith('secret'));
    const page = list(on, { pageSize: 2 }, { names });
    await answer({ 0: ['a', 'secret 1'] }, { 0: 'secret 1' });
    // The time of the page is over, but the last name is secret.
    await on.clock.advance(10_000);
    await answer({ 0: ['secret 2'] }, { 0: 'secret 2' });
    expect(page.over).toBe(false);
    await answer({ 0: [] }, { 0: 'b' });
    await settled();
    expect(namesOf(page.value)).toEqual(['a']);
    const token = Buffer.from(page.value.nextPageToken, 'base64url').toString('latin1');
    expect(token).toContain('"b"');
    expect(token).not.toContain('secret');
  });

  it('asks the store for nothing if the caller may read no name with the prefix', async () => {
    for (const order of ['fixed', 'waiter-count'] as const) {
      const page = list(on, { namePrefix: 'billing/', order }, { names: namesUnder('search/') });
      await settled();
      expect(page.value).toEqual({ resources: [], nextPageToken: '', sampled: false });
    }
    expect(on.store.log).toEqual([]);
  });

  it('begins in each bucket before the names that the caller may read, and skips the other names', async () => {
    const names = namesUnder('team-a/');
    const page = list(on, { pageSize: 1 }, { names });
    const placesOf = (steps: readonly ListStep[]) => steps.map(({ bucket, after }) => [bucket, after]);
    const first = 'team-a.\u{10FFFF}';
    expect(placesOf(await answer({}, { 0: 'team-a/a' }))).toEqual([[0, first]]);
    // After names behind the readable names the bucket is done.
    expect(placesOf(await answer({}, { 0: 'team-b/x' }))).toEqual([[0, 'team-a/a']]);
    const steps = await answer({ 1: ['team-a/x'] });
    expect(placesOf(steps)).toEqual([
      [1, first],
      [2, first],
    ]);
    await settled();
    expect(namesOf(page.value)).toEqual(['team-a/x']);
  });

  it('ends a page after 2 s, or shortly before the deadline of the call, with a token', async () => {
    for (const [options, ms] of [
      [{}, 2000],
      [{ timeoutMs: 1000 }, 900],
    ] as const) {
      const page = list(on, {}, { options });
      await on.clock.advance(ms - 1);
      await answer({ 0: ['a'] });
      expect(page.over).toBe(false);
      await on.clock.advance(1);
      await answer({ 1: ['b'] });
      await settled();
      expect(namesOf(page.value)).toEqual(['a', 'b']);
      list(on, { pageToken: page.value.nextPageToken });
      expect(await answer({})).toMatchObject([{ bucket: 3, after: '' }]);
    }
  });

  it('ends a page after 50,000 names, although none is shown', async () => {
    const page = list(on, { holderId: 'nobody' });
    const sent = await on.store.next('listViews');
    await sent.answer({ items: [], last: '', examinedCount: 50_000 });
    await settled();
    expect(page.value.resources).toEqual([]);
    expect(page.value.nextPageToken).not.toBe('');
  });

  it('ends a page of large resources before the size of a message is reached', async () => {
    const page = list(on, { pageSize: 500 });
    const large = holder({ metadata: { text: '€'.repeat(1365) } });
    const items = Array.from({ length: 64 }, (_, i) => view(String(i), { holders: Array(16).fill(large) }));
    const sent = await on.store.next('listViews');
    await sent.answer({ items, last: '63', examinedCount: 64 });
    await settled();
    const { resources, nextPageToken } = page.value;
    const bytes = resources.length * 16 * 4095;
    expect(bytes).toBeGreaterThan(1.5 * 2 ** 20);
    expect(bytes).toBeLessThan(2.5 * 2 ** 20);
    list(on, { pageSize: 500, pageToken: nextPageToken });
    expect(await answer({})).toMatchObject([{ after: String(resources.length - 1) }]);
    await answer({});
    await answer({});
  });

  it('stops when the call is cancelled', async () => {
    const page = list(on);
    await settled();
    page.call.cancel();
    await answer({ 0: ['a'] });
    await settled();
    expect(page.over).toBe(true);
    expect(on.store.inFlight).toEqual([]);
  });

  it.each([
    ['unavailable', 'STORE_UNAVAILABLE', 'the list of locks'],
    ['overloaded', 'OVERLOADED', 'the list of locks'],
  ] as const)('ends with an error of a read if the store is %s', async (kind, reason, text) => {
    for (const order of ['fixed', 'waiter-count'] as const) {
      const page = list(on, { order });
      const sent = await on.store.next(order === 'fixed' ? 'listViews' : 'listWaiterCounts');
      await sent.fail('unknown', kind);
      expect(page.failure).toMatchObject({ reason });
      expect(page.failure.message).toContain(text);
    }
  });

  it('hides the permits of a lock and the mode of a semaphore, as a single read does', async () => {
    for (const service of ['lock', 'semaphore'] as const) {
      const page = list(on, {}, { service });
      await answer({ 0: ['a'] });
      await answer({});
      await answer({});
      await settled();
      const [shown] = page.value.resources[0]?.holders ?? [];
      expect(shown).toMatchObject(service === 'lock' ? { permitCount: 1 } : { mode: undefined });
    }
  });

  it('by waiter count reads the names with the most waiters, and shows their present state', async () => {
    const page = list(on, { order: 'waiter-count', pageSize: 2 });
    const items = [3, 0, 9, 4].map((waiterCount, i) => ({ name: `n${i}`, waiterCount }));
    await (await on.store.next('listWaiterCounts')).answer({ items, last: '', examinedCount: 4 });
    for (let bucket = 1; bucket < 4; bucket += 1) {
      await (await on.store.next('listWaiterCounts')).answer({ items: [], last: '', examinedCount: 0 });
    }
    const reads = [await on.store.next('inspect'), await on.store.next('inspect')];
    expect(reads.map(({ resource }) => resource.name)).toEqual(['n2', 'n3']);
    await reads[0]!.answer(view('n2', { waiterCount: 1 }));
    await reads[1]!.answer(view('n3', { waiterCount: 5 }));
    expect(namesOf(page.value)).toEqual(['n3', 'n2']);
    expect(page.value).toMatchObject({ nextPageToken: '', sampled: false });
  });

  it('by waiter count leaves out names that are free or without the label by now', async () => {
    const page = list(on, { order: 'waiter-count', holderId: 'alice' });
    const items = ['a', 'b', 'c'].map((name) => ({ name, waiterCount: 1 }));
    await (await on.store.next('listWaiterCounts')).answer({ items, last: '', examinedCount: 50_000 });
    await (await on.store.next('inspect')).answer({ ...free, name: 'a' });
    await (await on.store.next('inspect')).answer(view('b', { holders: [holder({ holderId: 'bob' })] }));
    await (await on.store.next('inspect')).answer(view('c'));
    expect(namesOf(page.value)).toEqual(['c']);
    expect(page.value.sampled).toBe(true);
  });

  it('by waiter count shows a name only if one holder or waiter has both the label and the identity', async () => {
    const page = list(on, { order: 'waiter-count', holderId: 'alice', identity: 'token:a' });
    const items = ['a', 'b'].map((name) => ({ name, waiterCount: 1 }));
    await (await on.store.next('listWaiterCounts')).answer({ items, last: '', examinedCount: 50_000 });
    const [other, both] = [holder({ holderId: 'alice' }), holder({ holderId: 'alice', identity: 'token:a' })];
    const mixed = [other, holder({ holderId: 'bob', identity: 'token:a' })];
    await (await on.store.next('inspect')).answer(view('a', { holders: mixed }));
    await (await on.store.next('inspect')).answer(view('b', { holders: [other, both] }));
    expect(namesOf(page.value)).toEqual(['b']);
  });

  it('by waiter count compares 20,000 names at most, and shows no name that the caller may not read', async () => {
    const names = namesWhere((name) => name !== 'secret');
    const page = list(on, { order: 'waiter-count', pageSize: 1 }, { names });
    for (let step = 0; step < 4; step += 1) {
      const items = [
        { name: 'secret', waiterCount: 99 },
        { name: `n${step}`, waiterCount: step },
      ];
      await (
        await on.store.next('listWaiterCounts')
      ).answer({ items, last: `n${step}`, examinedCount: 5000 });
    }
    const read = await on.store.next('inspect');
    expect(read.resource.name).toBe('n3');
    await read.answer(view('n3'));
    expect(page.value).toMatchObject({ sampled: true, nextPageToken: '' });
  });

  /** Answers the comparison of all buckets with these names in the first bucket, the earlier names with more waiters. */
  async function compare(names: readonly string[]): Promise<void> {
    for (let bucket = 0; bucket < 4; bucket += 1) {
      const items = names.map((name, i) => ({ name, waiterCount: names.length - i }));
      const sent = await on.store.next('listWaiterCounts');
      await sent.answer({ items: bucket === 0 ? items : [], last: '', examinedCount: items.length });
    }
  }

  it('by waiter count begins at a random bucket, and compares the buckets before it last', async () => {
    on.identities.jitter = 0.7;
    list(on, { order: 'waiter-count' });
    const buckets: number[] = [];
    for (let bucket = 0; bucket < 4; bucket += 1) {
      const sent = await on.store.next('listWaiterCounts');
      buckets.push(sent.command.bucket);
      await sent.answer({ items: [], last: '', examinedCount: 0 });
    }
    expect(buckets).toEqual([2, 3, 0, 1]);
  });

  it('by waiter count says that locks may be missing if the locks with the most waiters are too large for one answer', async () => {
    const page = list(on, { order: 'waiter-count' });
    const names = Array.from({ length: 40 }, (_, i) => `n${i}`);
    await compare(names);
    const large = holder({ metadata: { text: 'x'.repeat(4096) } });
    let asked = 0;
    while (!page.over) {
      const sent = await on.store.next('inspect');
      asked += 1;
      await sent.answer(
        view(sent.resource.name, { holders: Array(32).fill(large), waiterCount: 40 - asked }),
      );
    }
    // A resource takes about 140 KiB, so 2 MiB are full in the second round of 8 reads.
    expect(namesOf(page.value)).toEqual(names.slice(0, 14));
    expect(asked).toBe(16);
    expect(page.value).toMatchObject({ sampled: true, nextPageToken: '' });
  });

  it('by waiter count compares names for three quarters of its time, and then reads the locks with the most waiters', async () => {
    const page = list(on, { order: 'waiter-count' }, { options: { timeoutMs: 1000 } });
    const names = Array.from({ length: 20 }, (_, i) => `n${i}`);
    const items = names.map((name) => ({ name, waiterCount: 1 }));
    await on.clock.advance(674);
    await (await on.store.next('listWaiterCounts')).answer({ items, last: '', examinedCount: 20 });
    await on.clock.advance(1);
    for (const _ of [1, 2]) {
      await (await on.store.next('listWaiterCounts')).answer({ items: [], last: '', examinedCount: 0 });
    }
    // The last bucket is not compared any more.
    expect(on.store.inFlight).toHaveLength(8);
    for (let i = 0; i < 8; i += 1) await (await on.store.next('inspect')).answer(view(names[i]!));
    await on.clock.advance(225);
    for (let i = 8; i < 16; i += 1) await (await on.store.next('inspect')).answer(view(names[i]!));
    expect(namesOf(page.value)).toEqual(names.slice(0, 16));
    expect(page.value.sampled).toBe(true);
  });

  it('by waiter count reads the first locks even if the time of its call is over', async () => {
    const page = list(on, { order: 'waiter-count' }, { options: { timeoutMs: 100 } });
    await on.clock.advance(100);
    const items = Array.from({ length: 9 }, (_, i) => ({ name: `n${i}`, waiterCount: 1 }));
    await (await on.store.next('listWaiterCounts')).answer({ items, last: '', examinedCount: 9 });
    for (let i = 0; i < 8; i += 1) await (await on.store.next('inspect')).answer(view(`n${i}`));
    expect(page.value.resources).toHaveLength(8);
    expect(page.value.sampled).toBe(true);
  });

  it('by waiter count has no page token', async () => {
    const page = list(on, { order: 'waiter-count', pageToken: 'x' });
    await settled();
    expect(page.failure).toBeInstanceOf(HoldfastError);
    expect(page.failure.reason).toBe('INVALID_FIELD');
  });
});
