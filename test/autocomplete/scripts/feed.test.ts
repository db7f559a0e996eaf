import {
  entriesDelete,
  entriesPut,
  entriesPutStaged,
  entriesSelect,
  entriesSweep,
} from '../../../generated/redis/scripts';
import type { Head } from '../../../src/autocomplete/entry-store';
import { pack } from '../../../src/autocomplete/redis/packing';
import {
  EntriesFixture,
  IN_TIME,
  PROFILE,
  stored,
  storedMany,
} from '../../support/autocomplete/entries-fixture';

/** The script without the rule that young writes are kept. */
const old = (lua: string) => lua.replaceAll('61000000', '0');
const MIB = 1024 * 1024;
const LEAST_BYTES = 64 * 1024;

describe('the feed of entries', () => {
  let fixture: EntriesFixture;
  beforeAll(async () => {
    fixture = await EntriesFixture.open();
  });
  afterAll(() => fixture?.close());

  let writes = 0;
  const put = (name: string, bytes: number, script = entriesPut) =>
    fixture.run(script, name, `write ${++writes}`, pack(['a', Buffer.alloc(bytes, 'x')]), ...IN_TIME);
  const state = async (name: string, field: string) => {
    const key = fixture.partKey(name, 'state', String(await fixture.meta(name, 'live')));
    return Number(await fixture.redis.command('HGET', key, field));
  };
  const length = async (name: string) =>
    Number(
      await fixture.redis.command(
        'LLEN',
        fixture.partKey(name, 'feed', String(await fixture.meta(name, 'live'))),
      ),
    );

  it('gives the writes after each of its versions, and notices another history', async () => {
    const name = await fixture.dictionary();
    const heads: Head[] = [await fixture.head(name)];
    for (let i = 0; i < 5; i += 1) {
      await fixture.store.put(name, [stored(`${i}`)]);
      heads.push(await fixture.head(name));
    }
    const last = heads[5] as Head;
    for (const [i, head] of heads.entries()) {
      const read = await fixture.store.writesAfter(name, head);
      const tails = heads.slice(i + 1).map(({ tail }) => tail);
      expect(read).toMatchObject({ kind: 'writes', head: last });
      expect(read.kind === 'writes' && read.writes.map(({ tail }) => tail)).toEqual(tails);
      expect(await fixture.store.writesAfter(name, { ...head, tail: 'other' })).toEqual({ kind: 'gap' });
    }
    expect(await fixture.store.writesAfter(name, { ...last, version: 99 })).toEqual({ kind: 'gap' });
    expect(await fixture.store.writesAfter(name, { ...last, generationId: 'other' })).toEqual({
      kind: 'gap',
    });
  });

  it('keeps at least 64 KiB, and a quarter of the bytes of a larger dictionary', async () => {
    const name = await fixture.dictionary();
    const before = await fixture.head(name);
    for (let i = 0; i < 20; i += 1) await put(name, 8_000, old(entriesPut));
    expect(await state(name, 'feed')).toBeLessThanOrEqual(LEAST_BYTES);
    expect(await length(name)).toBe(8);
    expect(await fixture.store.writesAfter(name, before)).toEqual({ kind: 'gap' });
    expect(await fixture.checkAtRest(name)).toEqual([]);
    await fixture.store.put(name, storedMany(50, 0, 'x'.repeat(12_000)));
    for (let i = 0; i < 30; i += 1) await put(name, 8_000, old(entriesPut));
    expect(await state(name, 'feed')).toBeGreaterThan(LEAST_BYTES * 2);
    expect(await state(name, 'feed')).toBeLessThanOrEqual((await state(name, 'bytes')) / 4);
    expect(await state(name, 'staged')).toBe(0);
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });

  it('keeps young writes up to 4 MiB, and removes the chunks of a put with its write', async () => {
    const name = await fixture.dictionary();
    await fixture.store.put(name, storedMany(150));
    expect(await state(name, 'staged')).toBe(1);
    for (let i = 0; i < 80; i += 1) expect((await put(name, 60_000))[0]).toBe('OK');
    expect(await state(name, 'feed')).toBeGreaterThan(3.9 * MIB);
    expect(await state(name, 'feed')).toBeLessThanOrEqual(4 * MIB);
    expect(await state(name, 'staged')).toBe(0);
    expect(await state(name, 'trimmed')).toBeGreaterThan(0);
    expect(await fixture.checkAtRest(name)).toEqual([]);
    expect(await fixture.redis.command('KEYS', fixture.partKey(name, 'stage', '*'))).toEqual([]);
  });

  it('is trimmed before a write, in steps of 64 elements, if many small writes must go', async () => {
    const name = await fixture.dictionary(storedMany(1));
    const select = (i: number) => fixture.run(entriesSelect, name, `s${i}`, 'id 0', '1', ...IN_TIME);
    await Promise.all(Array.from({ length: 300 }, (_, i) => select(i)));
    const generation = String(await fixture.meta(name, 'live'));
    // As if the elements were larger: the count of bytes is too high by 4 MiB.
    await fixture.redis.command(
      'HINCRBY',
      fixture.partKey(name, 'state', generation),
      'feed',
      4 * MIB + 60_000,
    );
    const before = await length(name);
    expect(await fixture.run(entriesSelect, name, 'next', 'id 0', '1', ...IN_TIME)).toEqual(['AGAIN']);
    expect(await length(name)).toBe(before - 64);
    expect(await fixture.run(entriesSweep, name)).toEqual(['MORE']);
    expect(await length(name)).toBe(before - 128);
  });

  it('is trimmed by sweeps until only young writes are beyond the bound', async () => {
    const name = await fixture.dictionary(storedMany(1));
    const select = (i: number) => fixture.run(entriesSelect, name, `s${i}`, 'id 0', '1', ...IN_TIME);
    await Promise.all(Array.from({ length: 2000 }, (_, i) => select(i)));
    expect(await state(name, 'feed')).toBeGreaterThan(4 * LEAST_BYTES);
    while (String((await fixture.run(old(entriesSweep), name))[0]) === 'MORE');
    expect(await state(name, 'feed')).toBeLessThanOrEqual(LEAST_BYTES);
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });

  it('keeps its last write, even if a put is larger than 4 MiB', async () => {
    const name = await fixture.dictionary(storedMany(5));
    const entries = storedMany(300).map(({ entryId }) => ({ entryId, record: Buffer.alloc(15_000, 'x') }));
    const before = await fixture.head(name);
    await fixture.store.put(name, entries);
    expect(await length(name)).toBe(1);
    expect(await fixture.checkAtRest(name)).toEqual([]);
    expect(await fixture.store.writesAfter(name, before)).toMatchObject({ kind: 'writes' });
    expect(Object.keys(await fixture.content(name))).toHaveLength(300);
  });

  it('keeps the writes that an open import has not followed', async () => {
    const name = await fixture.dictionary();
    await fixture.store.startImport(name, 'import', undefined, PROFILE);
    for (let i = 0; i < 20; i += 1) await put(name, 8_000, old(entriesPut));
    expect(await length(name)).toBe(20);
    expect(await fixture.store.putImported(name, 'import', [stored('b')])).toEqual({ kind: 'ok' });
    await put(name, 8_000, old(entriesPut));
    expect(await length(name)).toBe(8);
    expect(await fixture.store.commitImport(name, 'import')).toEqual({ kind: 'ok' });
    expect(Object.keys(await fixture.content(name))).toEqual(['a', 'b']);
  });

  it('has at most 4 MiB and one write while an import has not followed, because a writer lets the import follow', async () => {
    const name = await fixture.dictionary();
    for (const id of ['1', '2']) await fixture.store.startImport(name, id, undefined, PROFILE);
    for (let i = 0; i < 100; i += 1) {
      await fixture.other.put(name, [{ entryId: `${i}`, record: Buffer.alloc(60_000, 'x') }]);
      expect(await state(name, 'feed')).toBeLessThanOrEqual(4 * MIB + 61_000);
    }
    expect(await length(name)).toBeGreaterThan(60);
    expect(await fixture.store.putImported(name, '1', [stored('1'), stored('imported')])).toEqual({
      kind: 'ok',
    });
    expect(await fixture.store.commitImport(name, '1')).toEqual({ kind: 'ok' });
    const content = await fixture.content(name);
    expect(Object.keys(content)).toHaveLength(101);
    expect(content['1']?.[0]).toHaveLength(60_000);
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });

  it('does not wait for the import of a dead server when the feed is full', async () => {
    const name = await fixture.dictionary();
    await fixture.store.startImport(name, 'import', undefined, PROFILE);
    const built = fixture.partKey(name, 'state', String(await fixture.meta(name, 'import:import')));
    await fixture.redis.command('HINCRBY', built, 'heard', -61_000_000);
    const large = { entryId: 'a', record: Buffer.alloc(60_000, 'x') };
    for (let i = 0; i < 100; i += 1) await fixture.other.put(name, [large]);
    expect(await fixture.meta(name, 'import:import')).toBeNull();
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });

  it.each([
    ['a selection of an unknown entry', entriesSelect, ['unknown', '1'], ['OK', '-1']],
    ['a deletion of an unknown entry', entriesDelete, [pack(['unknown'])], ['OK', '0']],
    ['a put whose chunks have expired', entriesPutStaged, ['1'], ['EXPIRED']],
  ])('has exact counts after %s that trims the feed', async (_, script, args, reply) => {
    const name = await fixture.dictionary();
    await fixture.store.startImport(name, 'import', undefined, PROFILE);
    while ((await state(name, 'feed')) <= 4 * MIB) await put(name, 60_000);
    await fixture.store.abandonImport(name, 'import');
    const before = await length(name);
    expect(await fixture.run(script, name, 'without effect', ...args, ...IN_TIME)).toEqual(reply);
    expect(await length(name)).toBeLessThan(before);
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });

  it('ends an import that cannot follow when the feed is full', async () => {
    const name = await fixture.dictionary();
    await fixture.store.startImport(name, 'import', undefined, PROFILE);
    const built = fixture.partKey(name, 'state', String(await fixture.meta(name, 'import:import')));
    await fixture.redis.command('HSET', built, 'at', 'another history');
    const large = { entryId: 'a', record: Buffer.alloc(60_000, 'x') };
    for (let i = 0; i < 100; i += 1) await fixture.other.put(name, [large]);
    expect(await fixture.store.commitImport(name, 'import')).toEqual({ kind: 'lost' });
  });

  it('keeps a put of more than 4 MiB until an import has followed', async () => {
    const name = await fixture.dictionary();
    await fixture.store.startImport(name, 'import', undefined, PROFILE);
    const entries = storedMany(300).map(({ entryId }) => ({ entryId, record: Buffer.alloc(15_000, 'x') }));
    await fixture.other.put(name, entries);
    await fixture.other.put(name, [stored('later')]);
    await fixture.other.put(name, [stored('last')]);
    expect(await fixture.store.commitImport(name, 'import')).toEqual({ kind: 'ok' });
    expect(Object.keys(await fixture.content(name))).toHaveLength(302);
  });

  it('gives at most 1,000 writes in an answer', async () => {
    const name = await fixture.dictionary(storedMany(1));
    const before = await fixture.head(name);
    // A busy store refuses a selection that waits for too long, so only a few are on their way.
    const select = () => fixture.store.select(name, 'id 0', 1);
    for (let sent = 0; sent < 1010; sent += 5) await Promise.all(Array.from({ length: 5 }, select));
    const read = await fixture.store.writesAfter(name, before);
    expect(read.kind === 'writes' && read.writes.length).toBe(1000);
    expect(read.kind === 'writes' && read.head.version).toBe(before.version + 1010);
  });

  it('gives large feeds in answers of at most 256 KiB and one write', async () => {
    const name = await fixture.dictionary();
    const before = await fixture.head(name);
    for (let i = 0; i < 20; i += 1) await put(name, 60_000);
    const read = await fixture.store.writesAfter(name, before);
    expect(read.kind === 'writes' && read.writes.length).toBe(5);
    expect(read.kind === 'writes' && read.head.version).toBe(before.version + 20);
    expect(Object.keys(await fixture.content(name))).toEqual(['a']);
  });
});
