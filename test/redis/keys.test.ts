import { createHash } from 'node:crypto';
import fc from 'fast-check';
import type { Service } from '../../src/leases/lease';
import {
  absentKey,
  BUCKET_COUNT,
  bucketOf,
  bucketsBySlot,
  EPOCH_AT,
  epochKey,
  markKey,
  slotOfBucket,
  slotOfKey,
  wakeChannel,
} from '../../src/redis/buckets';
import {
  dictionaryNamesKey,
  entriesKey,
  ownedNamesKey,
  recentsKey,
  recentsRemovalKey,
} from '../../src/autocomplete/redis/entry-keys';
import { leaseKeys, resourceOfStateKey } from '../../src/leases/redis/lease-keys';
import { freePort } from '../support/processes/child-program';
import { RedisProcess } from '../support/processes/redis-process';
import { anyCharacter, assertWithinTime } from '../support/timed-property';

/** The services that have keys. The same name in two services means two different things. */
type Kind = Service | 'recents';

interface Place {
  readonly prefix: string;
  readonly service: Kind;
  readonly name: string;
}

/** Parts of keys and characters that might break keys: separators, tags, globs, control characters. */
const treacherous = fc.string({
  unit: fc.constantFrom(
    ...[
      '{',
      '}',
      ':',
      '{}',
      '}:',
      ':{',
      'l',
      's',
      'l:',
      's:',
      'state',
      'ends',
      'state:',
      'queue:',
      'r:',
      'list:',
      'removal:',
      '0',
      '17',
    ],
    ...[
      '*',
      '?',
      '[',
      '%',
      '\\',
      '"',
      '\0',
      '\n',
      '\r',
      '\u001b',
      ' ',
      'é',
      'e\u0301',
      '\u200b',
      '😀',
      '__proto__',
    ],
  ),
  maxLength: 8,
});
const name = fc.oneof(
  treacherous,
  fc.string({ unit: anyCharacter, maxLength: 40 }),
  fc.string({ maxLength: 10 }),
);
const service = fc.constantFrom<Kind>('lock', 'semaphore', 'recents');
const prefix = fc.oneof(fc.constant('holdfast'), fc.stringMatching(/^[a-z0-9._-]{1,6}$/));
const place = fc.record({ prefix, service, name });

/** The removal id of a name. */
const removalOf = (whole: string) => createHash('sha1').update(whole).digest('hex');

/** The epoch key belongs to the bucket and is shared by its names. */
const epochOf = ({ prefix: first, name: whole }: Place) => epochKey(first, bucketOf(whole));

const keysOf = (where: Place): string[] => {
  const { prefix: first, service: kind, name: whole } = where;
  return kind === 'recents'
    ? [recentsKey(first, whole), recentsRemovalKey(first, whole, removalOf(whole))]
    : leaseKeys(first, { service: kind, name: whole }).filter((key) => key !== epochOf(where));
};

describe('keys', () => {
  it('differ for every name, service and prefix', () => {
    const twoPlaces = fc.oneof(
      fc.tuple(place, place),
      // The next three pairs differ only in the name, only in the prefix, or only in the service.
      fc.tuple(place, name).map(([one, other]) => [one, { ...one, name: other }] as const),
      fc.tuple(place, prefix).map(([one, other]) => [one, { ...one, prefix: other }] as const),
      fc.tuple(place, service).map(([one, other]) => [one, { ...one, service: other }] as const),
      // A name that equals the key of another name.
      fc
        .tuple(place, fc.nat(6))
        .map(
          ([one, part]) => [one, { ...one, name: keysOf(one)[part % keysOf(one).length] as string }] as const,
        ),
    );
    assertWithinTime(
      fc.property(twoPlaces, ([one, other]) => {
        const same = one.prefix === other.prefix && one.service === other.service && one.name === other.name;
        const all = new Set([...keysOf(one), ...keysOf(other)]);
        expect(all.size).toBe(keysOf(one).length + (same ? 0 : keysOf(other).length));
        expect([...all]).not.toContain(epochOf(one));
        expect([...all]).not.toContain(epochOf(other));
      }),
    );
  });

  it('contain the epoch key of the bucket at a fixed position, for a lock or semaphore', () => {
    assertWithinTime(
      fc.property(place, (one) => {
        const { prefix: first, service: kind, name: whole } = one;
        if (kind !== 'recents')
          expect(leaseKeys(first, { service: kind, name: whole })[EPOCH_AT]).toBe(epochOf(one));
      }),
    );
  });

  it('identify their resource if they are state keys, and no resource otherwise', () => {
    assertWithinTime(
      fc.property(place, (one) => {
        const { prefix: first, ...resource } = one;
        const [state, ...others] = keysOf(one) as [string, ...string[]];
        if (resource.service === 'recents') expect(resourceOfStateKey(first, state)).toBeUndefined();
        else expect(resourceOfStateKey(first, state)).toEqual(resource);
        for (const key of others) expect(resourceOfStateKey(first, key)).toBeUndefined();
        expect(resourceOfStateKey(`${first}x`, state)).toBeUndefined();
        expect(
          resourceOfStateKey(first, wakeChannel(first, bucketOf(resource.name), resource.name)),
        ).toBeUndefined();
      }),
    );
  });

  it('have the hash tag of their bucket, even if the name has braces', () => {
    assertWithinTime(
      fc.property(place, (one) => {
        for (const key of keysOf(one)) {
          const tag = /^[^{}]*\{([^}]*)\}/.exec(key)?.[1];
          expect(tag).toBe(String(bucketOf(one.name)));
          expect(Number(tag)).toBeLessThan(BUCKET_COUNT);
        }
      }),
    );
  });

  describe('in Redis Cluster', () => {
    let redis: RedisProcess;
    beforeAll(async () => {
      // By default, the port of the Cluster bus is Redis's port + 10,000. Another process may use this port.
      const bus = ['--cluster-port', String(await freePort())];
      redis = await RedisProcess.start({ args: ['--cluster-enabled', 'yes', ...bus] });
    });
    afterAll(() => redis.close());

    const slotOf = (key: string) => redis.command('CLUSTER', 'KEYSLOT', key);

    it('are all in one slot for any name', async () => {
      await assertWithinTime(
        fc.asyncProperty(place, async (one) => {
          const slots = new Set(await Promise.all(keysOf(one).map(slotOf)));
          expect([...slots]).toEqual([await slotOf(`{${bucketOf(one.name)}}`)]);
        }),
      );
    });

    it('have the slot that Redis computes, and so have the absent key, the mark and the channel', async () => {
      await assertWithinTime(
        fc.asyncProperty(place, async (one) => {
          const [key] = keysOf(one) as [string];
          const absent = absentKey(key);
          const mark = markKey(key);
          for (const other of [absent, mark]) expect(keysOf(one)).not.toContain(other);
          const channel = wakeChannel(one.prefix, bucketOf(one.name), 'server');
          expect(slotOfBucket(bucketOf(one.name))).toBe(slotOfKey(key));
          for (const each of [key, absent, mark, channel])
            expect(String(slotOfKey(key))).toBe(await slotOf(each));
        }),
      );
      const names = dictionaryNamesKey('a');
      for (const each of [names, markKey(names), ownedNamesKey('a', 'token:{x}')])
        expect(String(slotOfKey(names))).toBe(await slotOf(each));
    });

    it('use the CRC16 of Redis Cluster for buckets', async () => {
      await assertWithinTime(
        fc.asyncProperty(name, async (text) => {
          fc.pre(!text.includes('{') && text !== '');
          expect(bucketOf(text)).toBe(Number(await slotOf(text)) % BUCKET_COUNT);
        }),
      );
    });
  });

  it('spread names evenly over the buckets', () => {
    const counts = new Map<number, number>();
    for (let i = 0; i < 20 * BUCKET_COUNT; i += 1) {
      const bucket = bucketOf(`order-${i}`);
      counts.set(bucket, (counts.get(bucket) ?? 0) + 1);
    }
    expect(counts.size).toBe(BUCKET_COUNT);
    expect(Math.max(...counts.values())).toBeLessThan(80);
  });
});

test('each dictionary of entries has a hash tag of its own, in a slot without buckets of leases', () => {
  const tags = new Set<string>();
  for (let i = 0; i < 2000; i += 1) {
    const key = entriesKey('p', `name {${i}}`);
    expect(key.endsWith(`}:d:meta:name {${i}}`)).toBe(true);
    const [tag = ''] = /\{[^}]*\}/.exec(key) ?? [];
    expect(tag).toMatch(/^\{d[0-9a-f]{16}\d*\}$/);
    tags.add(tag);
    expect(bucketsBySlot.has(slotOfKey(key))).toBe(false);
    expect(entriesKey('p', `name {${i}}`)).toBe(key);
  }
  expect(tags.size).toBe(2000);
});
