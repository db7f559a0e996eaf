import { EntriesFixture, PROFILE, storedMany } from '../support/autocomplete/entries-fixture';

describe('the inspection of a dictionary', () => {
  let fixture: EntriesFixture;
  beforeAll(async () => {
    fixture = await EntriesFixture.open();
  });
  afterAll(() => fixture?.close());

  const memoryOf = async (key: string) =>
    Number(await fixture.redis.command('MEMORY', 'USAGE', key, 'SAMPLES', 0));

  it('says that the dictionary is unknown', async () => {
    expect(await fixture.store.inspect(fixture.name())).toEqual({ kind: 'unknown' });
  });

  it('counts the generations that have been live', async () => {
    const name = await fixture.dictionary();
    expect(await fixture.store.inspect(name)).toMatchObject({ generation: 1, entryCount: 0 });
    await fixture.store.startImport(name, 'import', undefined, PROFILE);
    expect(await fixture.store.inspect(name)).toMatchObject({ generation: 1 });
    await fixture.store.commitImport(name, 'import');
    expect(await fixture.store.inspect(name)).toMatchObject({ generation: 2 });
  });

  const bytesOf = async (name: string) => {
    const inspected = await fixture.store.inspect(name);
    if (inspected.kind !== 'ok') throw new Error(`the dictionary is ${inspected.kind}`);
    return inspected.memoryBytes;
  };

  it('counts the ids that an open import keeps', async () => {
    const name = await fixture.dictionary();
    await fixture.store.startImport(name, 'import', undefined, PROFILE);
    const before = await bytesOf(name);
    const generation = String(await fixture.meta(name, 'import:import'));
    const pins = fixture.partKey(name, 'e', `${generation}:pins`, '0');
    await fixture.redis.command('HSET', pins, 'x'.repeat(50_000), '');
    expect(await bytesOf(name)).toBeGreaterThan(before + 40_000);
  });

  it('counts a generation whose buckets are removed already', async () => {
    const name = await fixture.dictionary(storedMany(100));
    const live = String(await fixture.meta(name, 'live'));
    await fixture.store.startImport(name, 'import', undefined, PROFILE);
    await fixture.store.commitImport(name, 'import');
    await fixture.redis.command('HSET', fixture.partKey(name, 'state', live), 'buckets', 0);
    expect(await bytesOf(name)).toBeGreaterThan(0);
  });

  it.each([60, 3000])('estimates the bytes of %d entries in Redis', async (count) => {
    const name = await fixture.dictionary(storedMany(count));
    const inspected = await fixture.store.inspect(name);
    if (inspected.kind !== 'ok') throw new Error(`the dictionary is ${inspected.kind}`);
    const generation = String(await fixture.meta(name, 'live'));
    const keys = (await fixture.redis.command(
      'KEYS',
      fixture.partKey(name, 'e', generation, '*'),
    )) as string[];
    const others = [fixture.key(name), fixture.partKey(name, 'state', generation)];
    const memory = await Promise.all([...keys, ...others].map(memoryOf));
    const bytes = inspected.feedBytes + memory.reduce((sum, one) => sum + one, 0);
    expect(inspected.memoryBytes / bytes).toBeGreaterThan(0.9);
    expect(inspected.memoryBytes / bytes).toBeLessThan(1.1);
  });
});
