import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { readBucketEntries } from '../../../src/autocomplete/bucket-entries';
import type { EntryCommands } from '../../../src/autocomplete/redis/entry-replies';
import { EntryFeed } from '../../../src/autocomplete/redis/feed';
import {
  pack,
  type Packable,
  packedTextBytes,
  PackReader,
  type Unpacked,
} from '../../../src/autocomplete/redis/packing';
import { systemClock } from '../../../src/base/clock';
import { script } from '../../../src/redis/script';
import type { RedisConnection } from '../../../src/redis/connection';
import type { RawReply } from '../../../src/redis/script';
import {
  allListed,
  allPages,
  DictionaryFixture,
  entry,
  storedOf,
} from '../../support/autocomplete/dictionary-fixture';
import { compare } from '../../support/autocomplete/dictionary-model';
import { connect } from '../../support/autocomplete/entries-fixture';
import { sayNotChecked } from '../../support/not-checked';
import { RedisProcess } from '../../support/processes/redis-process';
import { anyCharacter, assertWithinTime } from '../../support/timed-property';

/** A script that unpacks its argument and packs it again. */
const ECHO = script('return cmsgpack.pack(cmsgpack.unpack(ARGV[1]))');

const texts = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 40 }),
  fc.constantFrom(31, 32, 255, 256).map((length) => 'x'.repeat(length)),
);
const numbers = fc.oneof(
  fc.integer({ min: -200, max: 300 }),
  fc.integer(),
  fc.maxSafeInteger(),
  fc.constantFrom(127, 128, 255, 256, 65_535, 65_536, 2 ** 32 - 1, 2 ** 32, -32, -33, -128, -129, -32_769),
);
const bytes = fc.uint8Array({ maxLength: 300 }).map((value) => Buffer.from(value));
const values: fc.Arbitrary<Packable> = fc.letrec<{ value: Packable }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    texts,
    numbers,
    bytes,
    fc.array(tie('value'), { minLength: 1, maxLength: 6 }),
  ),
})).value;

function unpackedForm(value: Packable): Unpacked {
  if (typeof value === 'number') return value;
  if (typeof value === 'string' || value instanceof Uint8Array) return Buffer.from(value as string);
  return value.map(unpackedForm);
}

describe('packed values', () => {
  let redis: RedisProcess;
  let connection: RedisConnection;
  beforeAll(async () => {
    redis = await RedisProcess.start({ appendfsync: 'no' });
    connection = await connect(redis.adminUrl);
  });
  afterAll(async () => {
    connection?.close();
    await redis?.close();
  });

  /** What Redis packs of a packed value. */
  const echoed = (packed: Buffer): Promise<Buffer> =>
    connection.commands.send({
      run: ECHO,
      keys: ['key'],
      args: [packed],
      read: (reply) => reply as unknown as Buffer,
      isRaw: true,
    });

  it('are read as they were written, by this server and by Redis', async () => {
    await assertWithinTime(
      fc.asyncProperty(values, async (value) => {
        const expected = unpackedForm(value);
        expect(new PackReader(pack(value)).value()).toEqual(expected);
        expect(new PackReader(await echoed(pack(value))).value()).toEqual(expected);
      }),
    );
  });

  it('may have 64 KiB and more', async () => {
    for (const length of [65_535, 65_536]) {
      const text = 'x'.repeat(length);
      const reader = new PackReader(await echoed(pack([text, Array(length).fill(7)])));
      expect(String((reader.value() as Unpacked[])[0])).toBe(text);
      expect(reader.isAtEnd).toBe(true);
    }
  });

  it('are read one after another from the same bytes', () => {
    const reader = new PackReader(Buffer.concat([pack(['a', 1]), pack([]), pack(2)]));
    expect([reader.value(), reader.value(), reader.isAtEnd, reader.value(), reader.isAtEnd]).toEqual([
      [Buffer.from('a'), 1],
      [],
      false,
      2,
      true,
    ]);
  });

  it('are refused if they are cut off or of an unknown kind', () => {
    expect(() => new PackReader(pack('abc').subarray(0, 2)).value()).toThrow('cut off');
    expect(() => new PackReader(Buffer.from([0xc1])).value()).toThrow('unknown kind');
  });

  it('have at most the expected size', () => {
    for (const length of [0, 31, 32, 255, 256, 70_000]) {
      expect(pack('x'.repeat(length)).length).toBeLessThanOrEqual(packedTextBytes('x'.repeat(length)));
    }
  });

  it('of buckets give their entries with their selections, in any order of the fields', async () => {
    const long = 'x'.repeat(300);
    const huge = 'y'.repeat(70_000);
    const buckets = [
      ['a', 'ra', '\u0001b', '7', 'b', long, '\u0001a', '12'],
      [],
      Array.from({ length: 40 }, (_, i) => [`id ${i}`, `r ${i}`]).flat(),
      ['é', huge],
    ];
    const packed = Buffer.concat(await Promise.all(buckets.map((bucket) => echoed(pack(bucket)))));
    const found: [string, string, number][] = [];
    readBucketEntries(packed, ({ bytes: all, idStart, idEnd, recordStart, recordEnd, selectionCount }) => {
      const text = (start: number, end: number) => all.toString('utf8', start, end);
      found.push([text(idStart, idEnd), text(recordStart, recordEnd), selectionCount]);
    });
    const many = Array.from({ length: 40 }, (_, i): [string, string, number] => [`id ${i}`, `r ${i}`, 0]);
    expect(found).toEqual([['a', 'ra', 12], ['b', long, 7], ...many, ['é', huge, 0]]);
  });
});

describe('the feed of a dictionary', () => {
  const WRITES = 100;

  test('decodes many writes in slices, so that other calls run in between', async () => {
    const elements = Array.from({ length: WRITES }, (_, n) =>
      Buffer.concat([pack([`tail ${n}`, `id ${n}`, '0', 'd']), pack([`entry ${n}`])]),
    );
    const reply: RawReply = [
      'OK',
      'kt',
      'generation',
      String(WRITES),
      `tail ${WRITES}`,
      elements,
      `tail ${WRITES}`,
    ];
    type Read = (reply: readonly RawReply[]) => unknown;
    const on = {
      send: (_script: unknown, _name: string, _args: unknown, read: Read) => Promise.resolve(read(reply)),
    };
    let time = 0;
    // Between two looks at the clock, a slice is over.
    const clock = { ...systemClock, now: () => (time += 1) };
    let turns = 0;
    let isDone = false;
    const count = (): void => {
      turns += 1;
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    const feed = new EntryFeed(on as unknown as EntryCommands, clock);
    const read = await feed.writesAfter('people', { generationId: 'generation', version: 0, tail: 'tail 0' });
    isDone = true;
    expect(turns).toBeGreaterThanOrEqual(WRITES);
    expect(read).toMatchObject({ kind: 'writes', head: { version: WRITES } });
    const { writes } = read as Extract<typeof read, { kind: 'writes' }>;
    expect(writes.map(({ version, changes }) => [version, changes])).toEqual(
      elements.map((_, n) => [n + 1, [{ kind: 'delete', entryId: `entry ${n}` }]]),
    );
  });
});

/** Locales of this machine that do not order letters by their bytes. */
async function otherLocales(): Promise<string[]> {
  const { stdout } = await promisify(execFile)('locale', ['-a']).catch(() => ({ stdout: '' }));
  return stdout.split('\n').filter((name) => /^[a-z]{2,3}_[A-Z]{2}\.utf-?8$/i.test(name));
}

describe('the order of a dictionary', () => {
  it('is the byte order of the folded texts in every locale of Redis', async () => {
    const [locale] = await otherLocales();
    if (locale === undefined) {
      sayNotChecked('the order in another locale', 'none but C is installed');
      return;
    }
    const on = await DictionaryFixture.open({ env: { LC_ALL: locale } });
    try {
      const collated = await on.redis.command('EVAL', "return 'z' < 'é' and 1 or 0", 0);
      if (collated !== '0') {
        sayNotChecked('the order in another locale', `this Redis does not go by ${locale}`);
        return;
      }
      const name = on.name();
      await on.engine.createDictionary(name, { accents: 'kept', typos: true });
      // The texts are folded. Some contain digits and characters that a collation ignores.
      const texts = ['xa', 'xb', 'xz', 'xä', 'xé', 'x a', 'x-b', 'x_c', 'x1', 'x10', 'x9', 'xжа', 'x東'];
      const entries = [
        ...texts.map((text) => entry(text, text)),
        // Entries with equal texts are ordered by their ids, which are not folded.
        ...['b', 'B', 'a', 'A', 'é', 'z', '_', '-', '1'].map((id) => entry(`id ${id}`, 'xsame')),
      ];
      await on.engine.putEntries(name, storedOf(...entries));
      const expected = [
        ...texts.map((text) => [text, text]),
        ...['b', 'B', 'a', 'A', 'é', 'z', '_', '-', '1'].map((id) => ['xsame', `id ${id}`]),
      ]
        .sort(([a = '', id = ''], [b = '', other = '']) => compare(a, b) || compare(id, other))
        .map(([, id]) => id);
      for (const pageSize of [2, 100]) {
        const found = await allPages(() => on.engine, { dictionary: name, query: 'x', pageSize });
        expect(found.map(({ entryId }) => entryId)).toEqual(expected);
      }
      const listed = await allListed(() => on.engine, { dictionary: name, pageSize: 3 });
      expect(listed.map(({ text }) => text).sort(compare)).toEqual(listed.map(({ text }) => text));
      expect(await on.checkAtRest(name)).toEqual([]);
    } finally {
      await on.close();
    }
  });
});
