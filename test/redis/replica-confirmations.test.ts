import fc from 'fast-check';
import type { Profile } from '../../src/autocomplete/suggestion';
import { systemClock } from '../../src/base/clock';
import type { Resource } from '../../src/leases/lease';
import { epochKey } from '../../src/redis/buckets';
import { dictionaryNamesKey, entriesKey, ownedNamesKey } from '../../src/autocomplete/redis/entry-keys';
import { RedisConnection } from '../../src/redis/connection';
import type { AnsweringNode } from '../../src/redis/node/confirmations';
import { eventually } from '../support/eventually';
import { keyOf, PARTS } from '../support/leases/lease-stored';
import { RedisProcess, serverUrl } from '../support/processes/redis-process';
import type { RedisCommand } from '../support/proxy/tcp-proxy';
import { failureOf, is } from '../support/reply-kinds';
import { MasterAndReplica, type Store } from '../support/test-store';
import { assertWithinTime, HISTORIES } from '../support/timed-property';

const UNCONFIRMED = { carriedOut: 'unknown', kind: 'unconfirmed' };
/** Longer than the time limit of a test: a call that should end earlier makes its test fail. */
const LONG_TIMEOUT_MS = 600_000;
const WAIT = { timeoutMs: 60_000 };

const isWait = ({ name }: RedisCommand) => name === 'WAIT';
const isMark = ({ name, args }: RedisCommand) => name === 'EVAL' && String(args.at(-2)).endsWith(':mark');

function setLimit({ permits }: Store, name: string, limit: number) {
  return permits.setLimit({ service: 'semaphore', name }, { limit, expectedLimit: undefined });
}

describe('the confirmation of a change by a replica', () => {
  let pair: MasterAndReplica;
  let store: Store;
  const connections: RedisConnection[] = [];
  const others: RedisProcess[] = [];
  beforeEach(async () => {
    pair = await MasterAndReplica.start();
    store = await pair.connect({ commandTimeoutMs: LONG_TIMEOUT_MS });
  });
  afterEach(async () => {
    for (const connection of connections.splice(0)) connection.close();
    await pair.close();
    await Promise.all(others.splice(0).map((redis) => redis.close()));
  });

  /** The Redis that answers a command now, as the server knows it. */
  async function answering(commandTimeoutMs = LONG_TIMEOUT_MS): Promise<AnsweringNode> {
    const connection = new RedisConnection({
      endpoint: serverUrl(pair.front.address),
      commandTimeoutMs,
      clock: systemClock,
      onError: () => undefined,
    });
    connections.push(connection);
    await connection.ready(60_000);
    const keys = ['test:{1}:change'];
    const read = (_: unknown, _sentAt: number, by: AnsweringNode) => by;
    return connection.commands.send({ run: 'SET', keys, args: ['made'], read, isRaw: true });
  }

  const confirmed = (by: AnsweringNode) => by.confirm('test:{1}:change', systemClock.now());

  /** Lets a new replica follow a Redis. */
  async function addReplica(of: RedisProcess): Promise<void> {
    const replica = await RedisProcess.start({ appendfsync: 'no' });
    others.push(replica);
    await replica.command('REPLICAOF', '127.0.0.1', of.port);
    await eventually(
      'the new replica to be in sync',
      async () => {
        await of.command('PING');
        return Number(await of.command('WAIT', 1, 1000)) === 1;
      },
      WAIT,
    );
  }

  it.each([
    ['the reply of the mark', 'dropNextReply', isMark],
    ['the mark', 'dropNextRequest', isMark],
    ['the reply of WAIT', 'dropNextReply', isWait],
    ['WAIT', 'dropNextRequest', isWait],
  ] as const)('succeeds although the connection is lost with %s', async (_, drop, matches) => {
    const lost = pair.front[drop](matches);
    is('set', await setLimit(store, 'gpu', 2));
    await lost;
  });

  it('succeeds although the connection is lost while WAIT waits', async () => {
    await pair.freezeLink();
    const setting = setLimit(store, 'gpu', 2);
    await eventually('a WAIT', () => pair.front.commandCount('WAIT') === 1, WAIT);
    await pair.master.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await eventually('another WAIT', () => pair.front.commandCount('WAIT') === 2, WAIT);
    pair.thawLink();
    is('set', await setting);
  });

  it('goes on if WAIT ends before enough replicas have the change', async () => {
    await pair.freezeLink();
    const setting = setLimit(store, 'gpu', 2);
    await eventually('a WAIT', () => pair.front.commandCount('WAIT') === 1, WAIT);
    await eventually(
      'the end of the WAIT',
      async () => {
        const clients = String(await pair.master.command('CLIENT', 'LIST'));
        const [, id = ''] = /^id=(\d+) .* cmd=wait /m.exec(clients) ?? [];
        return id !== '' && (await pair.master.command('CLIENT', 'UNBLOCK', id)) === '1';
      },
      WAIT,
    );
    await eventually('another WAIT', () => pair.front.commandCount('WAIT') === 2, WAIT);
    pair.thawLink();
    is('set', await setting);
  });

  it('serves many changes with a few commands', async () => {
    await pair.freezeLink();
    const names = Array.from({ length: 100 }, (_, i) => `gpu ${i}`);
    const settings = Promise.all(names.map((name) => setLimit(store, name, 2)));
    await eventually(
      'all limits to be set',
      async () => {
        const limits = await Promise.all(
          names.map((name) => store.permits.inspect({ service: 'semaphore', name })),
        );
        return limits.every(({ limit }) => limit === 2);
      },
      WAIT,
    );
    pair.thawLink();
    for (const reply of await settings) is('set', reply);
    expect(pair.front.commandCount('WAIT')).toBeLessThan(6);
  });

  it('does not succeed at another master, which may lack the change', async () => {
    await pair.freezeLink();
    const setting = failureOf(setLimit(store, 'gpu', 2));
    await eventually('a WAIT', () => pair.front.commandCount('WAIT') === 1, WAIT);
    await pair.failOver();
    await addReplica(pair.replica);
    expect(await setting).toMatchObject(UNCONFIRMED);
  });

  it('does not succeed at a master that was a replica in between, and has lost the change', async () => {
    await pair.freezeLink();
    const by = await answering();
    await pair.failOver();
    await pair.master.command('REPLICAOF', '127.0.0.1', pair.replica.port);
    await eventually(
      'the old master to have the data of the new master',
      async () => (await pair.master.command('EXISTS', 'test:{1}:change')) === '0',
      WAIT,
    );
    await pair.master.command('REPLICAOF', 'NO', 'ONE');
    await pair.master.command('CONFIG', 'SET', 'min-replicas-to-write', 0);
    await addReplica(pair.master);
    pair.front.leadTo(pair.master.port);
    pair.front.cutAll();
    expect(await failureOf(confirmed(by))).toMatchObject(UNCONFIRMED);
  });

  it('fails if the master becomes a replica while WAIT waits', async () => {
    await pair.freezeLink();
    const setting = failureOf(setLimit(store, 'gpu', 2));
    await eventually('a WAIT', () => pair.front.commandCount('WAIT') === 1, WAIT);
    await pair.replica.command('REPLICAOF', 'NO', 'ONE');
    await pair.master.command('REPLICAOF', '127.0.0.1', pair.replica.port);
    expect(await setting).toMatchObject(UNCONFIRMED);
  });

  it('fails at the command timeout if Redis does not answer', async () => {
    const by = await answering(500);
    await eventually('the first confirmation', () => confirmed(by).then(() => true), WAIT);
    await pair.master.stop();
    try {
      expect(await failureOf(confirmed(by))).toMatchObject(UNCONFIRMED);
    } finally {
      await pair.master.cont();
    }
    // The connection that was given up is replaced.
    await eventually('another confirmation', () => confirmed(by).then(() => true), WAIT);
  });

  it('fails when the store is closed', async () => {
    await pair.freezeLink();
    const setting = failureOf(setLimit(store, 'gpu', 2));
    await eventually('a WAIT', () => pair.front.commandCount('WAIT') === 1, WAIT);
    store.close();
    expect(await setting).toMatchObject(UNCONFIRMED);
  });
});

describe('an acknowledged setting', () => {
  const PROFILE: Profile = { accents: 'dropped', typos: true };
  /** Longer than each test on a busy machine: a call that should end earlier would not end. */
  const LONG_TIMEOUT_MS = 60_000;
  const IMPORT = '01a1f89e-ab95-77dc-a5c3-74f67a69cde4';

  const semaphore = (name: string): Resource => ({ service: 'semaphore', name });

  function setLimit({ permits }: Store, name: string, limit: number) {
    return permits.setLimit(semaphore(name), { limit, expectedLimit: undefined });
  }

  /** The limit that a Redis has for the semaphore. */
  async function limitAt(redis: RedisProcess, name: string): Promise<number | undefined> {
    const limit = await redis.command('GET', keyOf('test', semaphore(name), 'limit'));
    return limit === null ? undefined : Number(limit);
  }

  const liveGenerationAt = (redis: RedisProcess, name: string) =>
    redis.command('HGET', entriesKey('test', name), 'live');

  const OWNER = 'token:owner';

  /** True: both lists have the name. */
  const isRegisteredAt = async (redis: RedisProcess, name: string) =>
    (await redis.command('ZSCORE', dictionaryNamesKey('test'), name)) !== null &&
    (await redis.command('ZSCORE', ownedNamesKey('test', OWNER), name)) !== null;

  const register = async ({ entries }: Store, name: string) => {
    await entries.register(name);
    await entries.registerOwned(OWNER, name);
  };

  interface Setting {
    readonly what: string;
    /** Prepares the change of what has the name. */
    prepare(store: Store, name: string, pair: MasterAndReplica): Promise<unknown>;
    /** The call that makes the change. May be repeated. */
    change(store: Store, name: string): Promise<unknown>;
    /** True if the Redis has the change. */
    isMade(redis: RedisProcess, name: string): Promise<boolean>;
  }

  const SETTINGS: readonly Setting[] = [
    {
      what: 'a limit',
      prepare: async (store, name) => is('set', await setLimit(store, name, 8)),
      change: async (store, name) => is('set', await setLimit(store, name, 2)),
      isMade: async (redis, name) => (await limitAt(redis, name)) === 2,
    },
    {
      what: 'the deletion of a semaphore',
      prepare: async (store, name) => is('set', await setLimit(store, name, 8)),
      change: async ({ permits }, name) =>
        is('removed', await permits.remove(semaphore(name), { force: false })),
      isMade: async (redis, name) => (await limitAt(redis, name)) === undefined,
    },
    {
      what: 'a new dictionary',
      prepare: (store, name) => register(store, name),
      change: async ({ entries }, name) => is('ok', await entries.create(name, PROFILE, OWNER)),
      isMade: async (redis, name) =>
        (await liveGenerationAt(redis, name)) !== null && (await isRegisteredAt(redis, name)),
    },
    {
      what: 'the commit of an import',
      prepare: async (store, name) => {
        await register(store, name);
        is('ok', await store.entries.startImport(name, IMPORT, PROFILE, PROFILE, OWNER));
      },
      change: async ({ entries }, name) => is('ok', await entries.commitImport(name, IMPORT, OWNER)),
      isMade: async (redis, name) =>
        (await liveGenerationAt(redis, name)) !== null && (await isRegisteredAt(redis, name)),
    },
    {
      what: 'the end of a quarantine',
      prepare: async ({ node, permits }, name, { master }) => {
        await master.command('FLUSHALL');
        // The script of this call finds no epoch, and the server pauses the grants of all names.
        expect(
          await failureOf(permits.setLimit(semaphore(name), { limit: 1, expectedLimit: undefined })),
        ).toMatchObject({ kind: 'quarantined' });
        expect(node.quarantine).toBeDefined();
      },
      change: ({ node }) => node.endQuarantine(),
      isMade: async (redis) => !String(await redis.command('GET', epochKey('test', 1))).includes('forgotten'),
    },
  ];

  /** Of all settings. */
  let pair: MasterAndReplica;
  let names = 0;
  beforeAll(async () => {
    pair = await MasterAndReplica.start();
  });
  afterEach(() => pair?.thawLink());
  afterAll(() => pair?.close());

  describe.each(SETTINGS)(
    '$what, over a master that asks for one replica,',
    ({ prepare, change, isMade }) => {
      let store: Store;
      let name: string;
      beforeEach(async () => {
        name = `setting ${(names += 1)}`;
        store = await pair.connect();
        await prepare(store, name, pair);
      });
      afterEach(() => store.close());

      it('is acknowledged when the replica has the change', async () => {
        await change(store, name);
        expect(await isMade(pair.replica, name)).toBe(true);
      });

      it('is unconfirmed while the replica lacks the change, and a repeated call acknowledges it', async () => {
        await pair.freezeLink();
        expect(await failureOf(change(store, name))).toMatchObject(UNCONFIRMED);
        expect(await isMade(pair.master, name)).toBe(true);
        expect(await isMade(pair.replica, name)).toBe(false);
        // The repeated call finds the change made, and writes nothing. The replica still lacks the change.
        expect(await failureOf(change(store, name))).toMatchObject(UNCONFIRMED);
        pair.thawLink();
        await change(store, name);
        expect(await isMade(pair.replica, name)).toBe(true);
      });
    },
  );

  describe('a setting that was changed before', () => {
    let store: Store;
    beforeEach(async () => {
      store = await pair.connect();
    });
    afterEach(() => store.close());

    it('is unconfirmed as deleted even after its tombstones are forgotten, because only the master may have the deletion', async () => {
      is('set', await setLimit(store, 'gpu', 8));
      const remove = () => store.permits.remove(semaphore('gpu'), { force: false });
      is('removed', await remove());
      await pair.master.command('DEL', ...PARTS.map((part) => keyOf('test', semaphore('gpu'), part)));
      is('unknown-resource', await remove());
      await pair.freezeLink();
      expect(await failureOf(remove())).toMatchObject(UNCONFIRMED);
    });

    it('is acknowledged as a dictionary when the replica also has its name in both lists', async () => {
      const { entries } = store;
      // A sweeper may have removed the name since the dictionary or the import was begun.
      is('ok', await entries.create('created', PROFILE, OWNER));
      expect(await isRegisteredAt(pair.replica, 'created')).toBe(true);
      is('ok', await entries.startImport('imported', IMPORT, PROFILE, PROFILE, OWNER));
      is('ok', await entries.commitImport('imported', IMPORT, OWNER));
      expect(await isRegisteredAt(pair.replica, 'imported')).toBe(true);
    });

    it('is not waited for if the call changes nothing and reports another state', async () => {
      is('set', await setLimit(store, 'gpu', 8));
      is('ok', await store.entries.create('towns', PROFILE, ''));
      await pair.freezeLink();
      is('limit-mismatch', await store.permits.setLimit(semaphore('gpu'), { limit: 2, expectedLimit: 3 }));
      is('unknown-resource', await store.permits.setLimit(semaphore('cpu'), { limit: 2, expectedLimit: 3 }));
      is('other-profile', await store.entries.create('towns', { ...PROFILE, typos: false }, ''));
      is('lost', await store.entries.commitImport('towns', IMPORT, ''));
    });
  });

  describe('a limit', () => {
    let pair: MasterAndReplica;
    afterEach(() => pair.close());

    it('is unconfirmed before a failover that undoes it', async () => {
      pair = await MasterAndReplica.start();
      const store = await pair.connect();
      is('set', await setLimit(store, 'gpu', 8));
      await pair.freezeLink();
      expect(await failureOf(setLimit(store, 'gpu', 2))).toMatchObject(UNCONFIRMED);
      await pair.failOver();
      expect(await limitAt(pair.replica, 'gpu')).toBe(8);
    });

    it('is acknowledged without a second connection if the master asks for no replica', async () => {
      pair = await MasterAndReplica.start({ minReplicas: 0 });
      const store = await pair.connect();
      const before = pair.front.connectionCount;
      await pair.freezeLink();
      is('set', await setLimit(store, 'gpu', 2));
      expect(pair.front.connectionCount).toBe(before);
      expect(pair.front.commandCount('WAIT')).toBe(0);
    });

    it('waits for one replica if the settings of Redis cannot be read and Redis has replicas', async () => {
      pair = await MasterAndReplica.start({ minReplicas: 0 });
      await pair.master.command('ACL', 'SETUSER', 'app', 'on', '>pw', '~*', '&*', '+@all', '-config');
      const store = await pair.connect({ url: `redis://app:pw@${pair.front.address}` });
      is('set', await setLimit(store, 'gpu', 8));
      await pair.freezeLink();
      expect(await failureOf(setLimit(store, 'gpu', 2))).toMatchObject(UNCONFIRMED);
    });

    it('is unconfirmed if the user may not run WAIT, and a warning says so until the user may', async () => {
      pair = await MasterAndReplica.start();
      await pair.master.command('ACL', 'SETUSER', 'app', 'on', '>pw', '~*', '&*', '+@all', '-wait');
      const store = await pair.connect({
        url: `redis://app:pw@${pair.front.address}`,
        commandTimeoutMs: LONG_TIMEOUT_MS,
      });
      const warnings = () => store.node.warnings.filter((text) => text.includes('may not run WAIT'));
      expect(warnings()).toEqual([]);
      expect(await failureOf(setLimit(store, 'gpu', 2))).toMatchObject(UNCONFIRMED);
      expect(warnings()).toHaveLength(1);
      await pair.master.command('ACL', 'SETUSER', 'app', '+wait');
      is('set', await setLimit(store, 'gpu', 2));
      expect(warnings()).toEqual([]);
    });

    it('is acknowledged while the memory of Redis is full', async () => {
      pair = await MasterAndReplica.start();
      const store = await pair.connect();
      is('set', await setLimit(store, 'gpu', 8));
      await pair.master.command('CONFIG', 'SET', 'maxmemory', '1mb');
      is('set', await setLimit(store, 'gpu', 2));
    });

    it('that was acknowledged is always at the replica, with any faults of the link and of connections', async () => {
      pair = await MasterAndReplica.start();
      const store = await pair.connect({ commandTimeoutMs: 400 });
      const step = fc.constantFrom('freeze', 'thaw', 'cut connections', 'set', 'set', 'set again');
      let limit = 0;
      let acknowledgedCount = 0;
      const take: Record<string, () => Promise<void> | void> = {
        freeze: () => pair.freezeLink(),
        thaw: () => pair.thawLink(),
        'cut connections': () => pair.front.cutAll(),
        set: () => set((limit += 1)),
        'set again': () => set(limit),
      };
      const set = async (wanted: number): Promise<void> => {
        const failure = await setLimit(store, 'gpu', wanted).then(
          () => undefined,
          (error: unknown) => failureOf(Promise.reject(error as Error)),
        );
        if (failure) return;
        acknowledgedCount += 1;
        expect(await limitAt(pair.replica, 'gpu')).toBe(wanted);
      };
      await assertWithinTime(
        fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 8 }), async (steps) => {
          pair.thawLink();
          for (const one of steps) await take[one]?.();
        }),
        { weight: HISTORIES },
      );
      pair.thawLink();
      await pair.inSync();
      await set(limit + 1).catch(() => undefined);
      expect(acknowledgedCount).toBeGreaterThan(0);
    });
  });
});
