import { DictionaryFixture, entry } from './dictionary-fixture';

describe('checkDictionary', () => {
  let on: DictionaryFixture;
  beforeAll(async () => {
    on = await DictionaryFixture.open();
    // Ends the sweeper, so that the sweeper does not remove the left-over data of a test.
    on.engine.drain();
  });
  afterAll(() => on?.close());

  const entries = Array.from({ length: 40 }, (_, i) =>
    entry(`e${i}`, `Zoë Straße ${i} 東京😀`, { weight: i * 1000, aliases: [`Ελλάδα ${i}`, 'Ｎｅｗ York'] }),
  );

  async function filled(): Promise<string> {
    const name = on.name();
    await on.engine.createDictionary(name, { accents: 'kept', typos: true });
    await on.engine.putEntries(name, entries);
    return name;
  }

  const keysOf = async (name: string, part: string) =>
    ((await on.redis.command('KEYS', `*:d:${part}:*:${name}*`)) as string[])
      // The end of a part's key may contain any bytes.
      .filter((key) => !key.includes('\ufffd'))
      .sort();

  it('finds no violation in a dictionary that the engine has written', async () => {
    const name = await filled();
    expect(await on.checkAtRest(name)).toEqual([]);
    await on.engine.deleteEntries(name, ['e1', 'e2', 'none']);
    await on.engine.recordSelection(name, 'e3', 7);
    const session = await on.engine.startImport(name, undefined);
    await session.put(entries.slice(0, 5));
    expect(await on.checkAtRest(name)).toEqual([]);
    await session.commit(5);
    expect(await on.checkAtRest(name)).toEqual([]);
    await on.engine.deleteDictionary(name);
    expect(await on.checkAtRest(name)).toEqual([]);
  });

  it.each([
    ['HDEL', 'ids', /its id leads to nothing/],
    ['HDEL', 'entries', /is there twice, or no entry has it/],
    ['DEL', 'state', /the count is 0, the entries are 40/],
    ['DEL', 'parts', /is not in parts/],
    ['DEL', 'part', /is empty|lacks the record/],
    ['ZPOPMIN', 'part', /lacks the record/],
    ['ZPOPMAX', 'parts', /is not in parts/],
    ['ZPOPMIN', 'parts', /the first part begins at/],
  ])('reports the result of %s on %s', async (command, part, what) => {
    const name = await filled();
    const keys = await keysOf(name, part);
    const key = keys[keys.length >> 1] as string;
    const args: string[] = [];
    if (command === 'HDEL' && part === 'ids') args.push('e7');
    if (command === 'HDEL' && part === 'entries') args.push('\0\0\0\0\x07');
    await on.redis.command(command, key, ...args);
    expect((await on.check(name)).join('\n')).toMatch(what);
  });

  it('reports records, keys and garbage that should not exist, and records in the wrong part', async () => {
    const name = await filled();
    const [part] = (await keysOf(name, 'part')).filter((key) => key.endsWith(`${name}\0`));
    await on.redis.command('ZADD', part as string, 0, 'zzz\0\0\0\0\0\x01');
    const broken = (await on.check(name)).join('\n');
    expect(broken).toMatch(/is in the part from "" to/);
    expect(broken).toMatch(/no entry has it/);
    await on.redis.command('HSET', on.key(name).replace(':meta:', ':state:99:'), 'next', 1);
    await on.redis.command('HSET', on.key(name), 'garbage:7', 1);
    const after = (await on.check(name)).join('\n');
    expect(after).toMatch(/state "" is of 99, which nobody names/);
    expect(after).toMatch(/7 is garbage that was left/);
  });
});
