import { entriesPut } from '../../../generated/redis/scripts';
import type { EntryChange, Head } from '../../../src/autocomplete/entry-store';
import { pack } from '../../../src/autocomplete/redis/packing';
import { StoreFailure } from '../../../src/base/errors';
import type { RedisConnection } from '../../../src/redis/connection';
import {
  connect,
  type Content,
  EntriesFixture,
  IN_TIME,
  loadedContent,
  PROFILE,
  stored,
  storedMany,
  storeOf,
} from '../../support/autocomplete/entries-fixture';
import { eventually } from '../../support/eventually';
import { serverUrl } from '../../support/processes/redis-process';
import { type RedisCommand, TcpProxy } from '../../support/proxy/tcp-proxy';
import { between, seeded } from '../../support/random';
import { failureOf } from '../../support/reply-kinds';

let fixture: EntriesFixture;
beforeAll(async () => {
  fixture = await EntriesFixture.open();
});
afterAll(() => fixture.close());

const contentOf = (entries: ReturnType<typeof storedMany>): Content =>
  Object.fromEntries(
    entries
      .map(({ entryId, record }) => [entryId, [String(record), 0]] as [string, [string, number]])
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );

describe('the store of entries', () => {
  it('loads what was put, deleted and selected', async () => {
    const { store } = fixture;
    const name = await fixture.dictionary([stored('a', 'first'), stored('b')]);
    expect(await store.put(name, [stored('a', 'second'), stored('c')])).toEqual({ kind: 'ok' });
    expect(await store.select(name, 'a', 3)).toEqual({ kind: 'ok', count: 3 });
    expect(await store.select(name, 'a', 2)).toEqual({ kind: 'ok', count: 5 });
    expect(await store.select(name, 'none', 2)).toEqual({ kind: 'ok', count: undefined });
    expect(await store.delete(name, ['b', 'none', 'b'])).toEqual({ kind: 'ok', deleted: 1 });
    expect(await fixture.content(name)).toEqual({ a: ['second', 5], c: ['record of c', 0] });
    expect(await store.inspect(name)).toMatchObject({
      kind: 'ok',
      profile: PROFILE,
      generation: 1,
      entryCount: 2,
      imports: [],
    });
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });

  it('keeps no chunk of a large put to a dictionary that does not exist', async () => {
    const name = fixture.name();
    expect(await fixture.store.put(name, storedMany(1000))).toEqual({ kind: 'unknown' });
    expect(await fixture.checker.check(name)).toEqual([]);
    expect(await fixture.redis.command('KEYS', fixture.partKey(name, '*'))).toEqual([]);
  });

  it('puts 1,000 entries as one version, and splits buckets', async () => {
    const { store } = fixture;
    const entries = storedMany(1000);
    const name = await fixture.dictionary();
    const before = await fixture.head(name);
    await store.put(name, entries);
    expect((await fixture.head(name)).version).toBe(before.version + 1);
    const read = await store.writesAfter(name, before);
    expect(read).toMatchObject({ kind: 'writes', writes: [{ before: before.tail }] });
    expect(read.kind === 'writes' && read.writes[0]?.changes).toHaveLength(1000);
    expect(await store.startLoad(name)).toMatchObject({ entryCount: 1000, bucketCount: 20 });
    expect(await fixture.content(name)).toEqual(contentOf(entries));
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });

  it('imports a new generation that keeps the selections and the writes of the time of the import', async () => {
    const { store, other } = fixture;
    const name = await fixture.dictionary(storedMany(300, 0, 'old'));
    await store.select(name, 'id 5', 7);
    expect(await store.startImport(name, 'import', undefined, PROFILE)).toEqual({ kind: 'ok' });
    await other.put(name, [stored('id 1', 'written'), stored('id 250', 'written')]);
    await store.putImported(name, 'import', storedMany(200, 0, 'new'));
    await other.delete(name, ['id 2']);
    await other.select(name, 'id 3', 1);
    await store.putImported(name, 'import', [stored('id 2', 'again'), stored('id 400', 'new')]);
    await other.put(name, storedMany(300, 500, 'large'));
    expect(await store.commitImport(name, 'import')).toEqual({ kind: 'ok' });
    expect(await store.commitImport(name, 'import')).toEqual({ kind: 'ok' });
    const expected = {
      ...contentOf([...storedMany(200, 0, 'new'), ...storedMany(300, 500, 'large'), stored('id 400', 'new')]),
      'id 1': ['written', 0],
      'id 250': ['written', 0],
      'id 3': ['new 3', 1],
      'id 5': ['new 5', 7],
    } as Content;
    delete expected['id 2'];
    expect(await fixture.content(name)).toEqual(expected);
    expect(await store.inspect(name)).toMatchObject({ generation: 2, imports: [] });
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });
});

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

const COMMAND_TIMEOUT_MS = 600;
/** Longer than a deletion and a creation on a busy machine. */
const PATIENT_TIMEOUT_MS = 20_000;
const isScript = ({ name }: RedisCommand) => name === 'EVALSHA' || name === 'EVAL';

describe('a write of entries over a bad connection', () => {
  let fixture: EntriesFixture;
  let proxy: TcpProxy;
  let connection: RedisConnection;
  beforeEach(async () => {
    fixture = await EntriesFixture.open();
    proxy = await TcpProxy.open({ targetPort: fixture.redis.port, protocol: 'redis' });
    connection = await connect(serverUrl(proxy.address), COMMAND_TIMEOUT_MS);
  });
  afterEach(async () => {
    connection.close();
    await proxy.close();
    await fixture.close();
  });

  it('is done once, and gets its answer, if the reply is lost with the connection', async () => {
    const name = await fixture.dictionary([stored('a')]);
    const store = storeOf(connection.commands);
    for (const [round, lose] of [proxy.dropNextReply, proxy.dropNextRequest].entries()) {
      const lost = lose.call(proxy, isScript);
      expect(await store.select(name, 'a', 1)).toEqual({ kind: 'ok', count: round + 1 });
      await lost;
    }
    const lost = proxy.dropNextReply(isScript);
    expect(await store.delete(name, ['a'])).toEqual({ kind: 'ok', deleted: 1 });
    await lost;
    expect((await fixture.head(name)).version).toBe(5);
  });

  it('has an unknown outcome, and is not done again, if the dictionary was deleted and created meanwhile', async () => {
    const name = await fixture.dictionary([stored('a')]);
    const patient = await connect(serverUrl(proxy.address), PATIENT_TIMEOUT_MS);
    try {
      const lost = proxy.dropNextReply(isScript);
      proxy.refuseNew();
      const failure = failureOf(storeOf(patient.commands).select(name, 'a', 1));
      await lost;
      expect(await fixture.store.drop(name)).toBe(true);
      await fixture.store.create(name, PROFILE);
      await fixture.store.put(name, [stored('a')]);
      proxy.passEverything();
      expect(await failure).toMatchObject({ carriedOut: 'unknown' });
      expect(await fixture.content(name)).toEqual({ a: ['record of a', 0] });
    } finally {
      patient.close();
    }
  });

  it('is never done after its time, even if the command arrives later', async () => {
    const name = await fixture.dictionary([stored('a')]);
    const before = await fixture.head(name);
    const store = storeOf(connection.commands);
    proxy.blackHole('toTarget');
    const failure: unknown = await store.select(name, 'a', 1).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StoreFailure);
    expect(failure).toMatchObject({ carriedOut: 'unknown' });
    proxy.passEverything();
    await eventually('the late command to run', async () => {
      const stats = String(await fixture.redis.command('INFO', 'commandstats'));
      // Creation, put, and the late selection.
      const calls = [...stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)];
      return calls.reduce((sum, [, count]) => sum + Number(count), 0) >= 3;
    });
    expect(await fixture.head(name)).toEqual(before);
    expect(await fixture.content(name)).toEqual({ a: ['record of a', 0] });
  });
});

const LANES = 8;
const ROUNDS = 25;
const ID_COUNT = 60;

describe('two stores that write at the same time', () => {
  it('make one history: its writes give the content of the buckets and every answer', async () => {
    const name = await fixture.dictionary();
    const start = await fixture.head(name);
    const answers = { deleted: 0, counts: [] as string[] };
    const lane = async (number: number) => {
      const random = seeded(number);
      const store = number % 2 === 0 ? fixture.store : fixture.other;
      for (let i = 0; i < ROUNDS; i += 1) {
        const id = between(random, 0, ID_COUNT);
        const dice = random();
        if (dice < 0.3) await store.put(name, [stored(`id ${id}`, `of lane ${number}, ${i}`)]);
        else if (dice < 0.4) await store.put(name, storedMany(120, id, `all of lane ${number}, ${i}`));
        else if (dice < 0.6) {
          const deleted = await store.delete(name, [`id ${id}`, `id ${id + 1}`]);
          if (deleted.kind === 'ok') answers.deleted += deleted.deleted;
        } else {
          const selected = await store.select(name, `id ${id}`, 1);
          if (selected.kind === 'ok' && selected.count !== undefined) {
            answers.counts.push(`id ${id}: ${selected.count}`);
          }
        }
      }
    };
    await Promise.all(Array.from({ length: LANES }, (_, number) => lane(number)));

    const replayed = new Map<string, [string, number]>();
    const expected = { deleted: 0, counts: [] as string[] };
    const apply = (change: EntryChange) => {
      const known = replayed.get(change.entryId);
      if (change.kind === 'put') replayed.set(change.entryId, [String(change.record), known?.[1] ?? 0]);
      else if (change.kind === 'delete') expected.deleted += replayed.delete(change.entryId) ? 1 : 0;
      else {
        expect(change.selectionCount).toBe((known?.[1] ?? NaN) + 1);
        if (known) known[1] = change.selectionCount;
        expected.counts.push(`${change.entryId}: ${change.selectionCount}`);
      }
    };
    const head = await fixture.head(name);
    for (let at = start; at.version < head.version;) {
      const read = await fixture.store.writesAfter(name, at);
      if (read.kind !== 'writes') throw new Error(read.kind);
      for (const { version, before, tail, changes } of read.writes) {
        expect({ version, before }).toEqual({ version: at.version + 1, before: at.tail });
        changes.forEach(apply);
        at = { ...at, version, tail };
      }
    }
    const content: Content = Object.fromEntries([...replayed].sort(([a], [b]) => (a < b ? -1 : 1)));
    expect(await fixture.content(name)).toEqual(content);
    expect(answers.deleted).toBe(expected.deleted);
    expect(answers.counts.sort()).toEqual(expected.counts.sort());
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });
});
