import { entriesPut } from '../../generated/redis/scripts';
import type { Head } from '../../src/autocomplete/entry-store';
import { pack } from '../../src/autocomplete/redis/packing';
import {
  EntriesFixture,
  IN_TIME,
  loadedContent,
  PROFILE,
  stored,
  storedMany,
} from '../support/autocomplete/entries-fixture';
import { failureOf } from '../support/reply-kinds';

describe('the load of a dictionary of entries', () => {
  let fixture: EntriesFixture;
  beforeAll(async () => {
    fixture = await EntriesFixture.open({ args: ['--enable-debug-command', 'yes'] });
  });
  afterAll(() => fixture?.close());

  it('gives the state of the head while entries are written and buckets are split', async () => {
    const name = await fixture.dictionary(storedMany(1000));
    for (let i = 1; i < 6; i += 1) await fixture.store.put(name, storedMany(1000, i * 1000));
    let step = 0;
    const write = async () => {
      step += 1;
      await fixture.other.put(name, storedMany(step % 3 === 0 ? 300 : 20, 4000 + step * 100, 'later'));
      await fixture.other.delete(name, [`id ${step * 7}`, `id ${step * 11}`]);
      await fixture.other.select(name, `id ${step * 13}`, 2);
    };
    const loaded = await loadedContent(fixture.store, name, write);
    expect(step).toBeGreaterThan(4);
    expect(loaded).toEqual(await fixture.content(name));
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });

  it('goes on with a replaced generation, and follows from its last write into the new generation', async () => {
    const name = await fixture.dictionary(storedMany(100, 0, 'old'));
    const start = await fixture.store.startLoad(name);
    const { head } = start as { head: Head };
    await fixture.store.put(name, [stored('late')]);
    await fixture.store.startImport(name, 'import', undefined, PROFILE);
    await fixture.store.commitImport(name, 'import');
    const committed = await fixture.head(name);
    await fixture.store.put(name, [stored('new')]);
    const read = await fixture.store.readBuckets(name, head.generationId, 0);
    expect(read).toMatchObject({ kind: 'buckets', version: committed.version - 1 });
    const own = await fixture.store.writesAfter(name, head);
    expect(own).toMatchObject({ kind: 'writes', writes: [{ changes: [{ entryId: 'late' }] }] });
    const last = own.kind === 'writes' ? own.writes[0] : undefined;
    const at = { generationId: committed.generationId, version: last?.version ?? 0, tail: last?.tail ?? '' };
    expect(await fixture.store.writesAfter(name, at)).toMatchObject({
      kind: 'writes',
      writes: [
        { tail: committed.tail, changes: [] },
        { before: committed.tail, changes: [{ entryId: 'new' }] },
      ],
    });
  });

  it('notices that Redis has gone back to an earlier state, and made other writes since', async () => {
    const name = await fixture.dictionary([stored('a')]);
    const kept = await fixture.head(name);
    await fixture.redis.command('CONFIG', 'SET', 'appendonly', 'no');
    await fixture.redis.command('SAVE');
    for (const id of ['b', 'c']) await fixture.store.put(name, [stored(id)]);
    const lost = await fixture.head(name);
    await fixture.redis.command('DEBUG', 'RELOAD', 'NOSAVE');
    expect(await fixture.store.writesAfter(name, lost)).toEqual({ kind: 'gap' });
    for (const id of ['d', 'e']) await fixture.store.put(name, [stored(id)]);
    expect((await fixture.head(name)).version).toBe(lost.version);
    expect(await fixture.store.writesAfter(name, lost)).toEqual({ kind: 'gap' });
    await fixture.store.put(name, [stored('f')]);
    expect(await fixture.store.writesAfter(name, lost)).toEqual({ kind: 'gap' });
    expect(await fixture.store.writesAfter(name, kept)).toMatchObject({ kind: 'writes' });
    expect(Object.keys(await fixture.content(name))).toEqual(['a', 'd', 'e', 'f']);
  });

  it('notices another history that ends with a repetition of the same write', async () => {
    const name = await fixture.dictionary([stored('a')]);
    await fixture.redis.command('CONFIG', 'SET', 'appendonly', 'no');
    await fixture.redis.command('SAVE');
    const repeated = () =>
      fixture.run(entriesPut, name, 'repeated', pack(['b', 'x']), IN_TIME[0], '1').then(([word]) => word);
    await fixture.store.put(name, [stored('lost')]);
    expect(await repeated()).toBe('OK');
    const lost = await fixture.head(name);
    await fixture.redis.command('DEBUG', 'RELOAD', 'NOSAVE');
    await fixture.store.put(name, [stored('new')]);
    expect(await repeated()).toBe('OK');
    const head = await fixture.head(name);
    expect(head.version).toBe(lost.version);
    expect(head.tail).not.toBe(lost.tail);
    expect(await fixture.store.writesAfter(name, lost)).toEqual({ kind: 'gap' });
    await fixture.store.put(name, [stored('later')]);
    expect(await fixture.store.writesAfter(name, lost)).toEqual({ kind: 'gap' });
    expect(await fixture.store.writesAfter(name, head)).toMatchObject({ kind: 'writes' });
  });

  it('finds nothing after FLUSHALL, and imports are lost', async () => {
    const name = await fixture.dictionary(storedMany(100));
    const { generationId } = await fixture.head(name);
    await fixture.store.startImport(name, 'import', undefined, PROFILE);
    await fixture.redis.command('FLUSHALL');
    for (const answer of [
      fixture.store.head(name),
      fixture.store.startLoad(name),
      fixture.store.inspect(name),
      fixture.store.put(name, storedMany(1)),
      fixture.store.put(name, storedMany(200)),
      fixture.store.delete(name, ['a']),
      fixture.store.select(name, 'a', 1),
    ]) {
      expect(await answer).toEqual({ kind: 'unknown' });
    }
    expect(await fixture.store.readBuckets(name, generationId, 0)).toEqual({ kind: 'gap' });
    expect(await fixture.store.putImported(name, 'import', storedMany(1))).toEqual({ kind: 'lost' });
    expect(await fixture.store.commitImport(name, 'import')).toEqual({ kind: 'lost' });
    await fixture.store.abandonImport(name, 'import');
    expect(await fixture.store.drop(name)).toBe(false);
    expect(await fixture.store.sweep(name)).toBe('gone');
    expect(await fixture.checker.check(name)).toEqual([]);
  });
});

describe('when the memory of Redis is full', () => {
  let fixture: EntriesFixture;
  beforeAll(async () => {
    fixture = await EntriesFixture.open();
  });
  afterAll(() => fixture?.close());
  afterEach(() => fixture.redis.command('CONFIG', 'SET', 'maxmemory', '0'));

  it('puts, selections, creations and imports are refused, and deletions and clean-up go on', async () => {
    const { store } = fixture;
    const name = await fixture.dictionary(storedMany(100));
    await store.startImport(name, 'import', undefined, PROFILE);
    await store.putImported(name, 'import', storedMany(5, 0, 'imported'));
    await fixture.redis.command('CONFIG', 'SET', 'maxmemory', '1mb');
    for (const refused of [
      () => store.put(name, storedMany(1)),
      () => store.put(name, storedMany(200)),
      () => store.select(name, 'id 1', 1),
      () => store.create(fixture.name(), PROFILE),
      () => store.startImport(name, 'second', undefined, PROFILE),
      () => store.putImported(name, 'import', storedMany(1)),
    ]) {
      expect(await failureOf(refused())).toMatchObject({ kind: 'full', carriedOut: 'no' });
    }
    expect(await store.delete(name, ['id 1'])).toEqual({ kind: 'ok', deleted: 1 });
    expect(await store.drop(name)).toBe(true);
    while ((await store.sweep(name)) === 'more');
    expect(await store.sweep(name)).toBe('gone');
    await fixture.redis.command('CONFIG', 'SET', 'maxmemory', '0');
    expect(await fixture.checker.check(name)).toEqual([]);
  });

  it.each(['deletion', 'sweep'])('a committed put is finished by the next %s', async (way) => {
    const { store } = fixture;
    const name = await fixture.dictionary();
    await store.put(name, storedMany(300));
    await fixture.makePending(name, 3, 0);
    await fixture.redis.command('CONFIG', 'SET', 'maxmemory', '1mb');
    if (way === 'deletion') expect(await store.delete(name, ['id 1'])).toEqual({ kind: 'ok', deleted: 1 });
    else while ((await store.sweep(name)) === 'more');
    expect(await fixture.meta(name, 'pending')).toBeNull();
    await fixture.redis.command('CONFIG', 'SET', 'maxmemory', '0');
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });
});
