import {
  dictionaryCreate,
  dictionaryDrop,
  dictionaryInspect,
  dictionaryStartImport,
  dictionaryWrite,
} from '../../generated/redis/scripts';
import { DictionaryFixture, foldedEntry, giantEntry, putArgs } from '../support/dictionary-fixture';

const PROFILE = { accents: 'kept', typos: true, foldVersion: 1 } as const;

/** A Lua script that returns the exact memory of all keys of a generation. */
const MEMORY = `
local sum = 0
for _, key in ipairs(redis.call('KEYS', '*:' .. ARGV[1] .. ':*')) do
  sum = sum + redis.call('MEMORY', 'USAGE', key, 'SAMPLES', 0)
end
return sum`;

describe('dictionary-inspect', () => {
  let fixture: DictionaryFixture;
  beforeAll(async () => {
    fixture = await DictionaryFixture.open();
  });
  afterAll(() => fixture?.close());

  /** The script, changed to measure every element of a key. With few samples, the result depends on a random seed. */
  const exactInspect = dictionaryInspect.replace("'SAMPLES', 5", "'SAMPLES', 0");
  const inspect = (name: string) => fixture.run(dictionaryInspect, name);
  const create = (name: string) => fixture.run(dictionaryCreate, name, 'kt1');
  const put = (name: string, id: string, ...args: string[]) =>
    fixture.run(dictionaryWrite, name, 'kt1', id, ...args);
  const now = async () => {
    const [seconds, us] = (await fixture.redis.command('TIME')) as [string, string];
    return Number(seconds) * 1_000_000 + Number(us);
  };

  it('answers UNKNOWN before the dictionary exists and after its drop', async () => {
    const name = fixture.name();
    expect(await inspect(name)).toEqual(['UNKNOWN']);
    await fixture.run(dictionaryStartImport, name, '', 'kt1', 'import');
    expect(await inspect(name)).toEqual(['UNKNOWN']);
    await create(name);
    expect((await inspect(name))[0]).toBe('OK');
    await fixture.run(dictionaryDrop, name);
    expect(await inspect(name)).toEqual(['UNKNOWN']);
  });

  it('counts each entry once, and leaves deleted and unfinished entries out', async () => {
    const name = fixture.name();
    await create(name);
    const count = async () => (await inspect(name))[3];
    expect(await count()).toBe('0');
    for (const id of ['a', 'b', 'c']) await put(name, '', ...putArgs(foldedEntry(id, id)));
    expect(await count()).toBe('3');
    await put(name, '', ...putArgs(foldedEntry('a', 'another')), ...putArgs(foldedEntry('b', 'b')));
    expect(await count()).toBe('3');
    await put(name, '', 'delete', 'a', '', '', '', '', '', 'delete', 'nobody', '', '', '', '', '');
    expect(await count()).toBe('2');
    await put(name, '', ...putArgs(giantEntry('giant')));
    expect(await count()).toBe('2');
    await fixture.checkAtRest(name);
    expect(await count()).toBe('3');
  });

  it('shows the start and the number of received entries of each import', async () => {
    const name = fixture.name();
    await create(name);
    const before = await now();
    for (const id of ['one', 'two']) await fixture.run(dictionaryStartImport, name, '', 'kt1', id);
    const after = await now();
    const batch = [...putArgs(foldedEntry('a', 'a')), ...putArgs(foldedEntry('b', 'b'))];
    await put(name, 'two', ...batch);
    // An entry that was sent twice counts twice.
    await put(name, 'two', ...putArgs(foldedEntry('a', 'a')));
    const imports = (await inspect(name))[5] as [string, string][];
    expect(imports.map(([, received]) => received).sort()).toEqual(['0', '3']);
    for (const [started] of imports) {
      expect(Number(started)).toBeGreaterThanOrEqual(before);
      expect(Number(started)).toBeLessThanOrEqual(after);
    }
  });

  it.each([
    ['nothing', 0, 0],
    ['a few entries', 5, 0],
    ['thousands of entries', 3000, 0],
    ['thousands of entries, every third with a payload', 2000, 1024],
  ])('answers the memory within 30 %% of the exact bytes, for %s', async (_what, count, payload) => {
    const name = fixture.name();
    await create(name);
    const entries = Array.from({ length: count }, (_, i) =>
      foldedEntry(`id ${i}`, `entry ${(i * 7919) % 3000} of many`, {
        payload: new Uint8Array(i % 3 === 0 ? payload : 0).fill(7),
      }),
    );
    for (let i = 0; i < count; i += 1000) await fixture.store.put(name, PROFILE, entries.slice(i, i + 1000));
    const live = String(await fixture.meta(name, 'live'));
    const bytes = Number(await fixture.redis.command('EVAL', MEMORY, 0, live));
    const said = Number((await fixture.run(exactInspect, name))[4]);
    // The reply does not count the state key of about 100 bytes.
    expect(said).toBeGreaterThanOrEqual(bytes * 0.7 - 200);
    expect(said).toBeLessThanOrEqual(bytes * 1.3);
    if (count >= 2000) expect(said).toBeGreaterThan(count * (100 + payload / 3));
  });

  it('changes nothing', async () => {
    const name = fixture.name();
    await create(name);
    await put(name, '', ...putArgs(giantEntry('giant')));
    const before = await fixture.redis.command('HGETALL', fixture.key(name));
    await inspect(name);
    expect(await fixture.redis.command('HGETALL', fixture.key(name))).toEqual(before);
  });
});
