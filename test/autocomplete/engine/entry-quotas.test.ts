import type { Writer } from '../../../src/autocomplete/quota/amount';
import { DictionaryOwners, EntryQuotas } from '../../../src/autocomplete/quota/quotas';
import { OwnedDictionaries, UsageAccounts } from '../../../src/autocomplete/quota/usage';
import type { Quotas } from '../../../src/base/accounts';
import { fourByteEntries, ModelOwnership } from '../../support/autocomplete/model-entry-store';
import { ManualClock } from '../../support/manual-clock';

describe('the quota of entries', () => {
  const [ALICE, BOB] = ['token:alice', 'token:bob'];

  let store: ModelOwnership;
  let clock: ManualClock;
  let quotas: EntryQuotas;
  beforeEach(() => {
    store = new ModelOwnership();
    clock = new ManualClock(1000);
    quotas = new EntryQuotas(store, new OwnedDictionaries(store), clock);
  });

  const writer = (identity: string, limits: Quotas = { entries: 10 }): Writer => ({
    identity,
    quotas: limits,
  });

  /** Lets time pass until the work has ended. */
  async function ended<T>(work: Promise<T>): Promise<T> {
    let isEnded = false;
    const end = () => (isEnded = true);
    work.then(end, end);
    for (let i = 0; i < 100 && !isEnded; i += 1) await clock.advance(20);
    return work;
  }

  function put(name: string, by: Writer, count: number, from = 0): Promise<void> {
    const entries = fourByteEntries(count, from);
    return ended(
      quotas.put(name, by, entries, () => {
        store.put(name, entries);
        return Promise.resolve();
      }),
    );
  }

  const refused = (quota: string, limit: number) => ({
    reason: 'QUOTA_EXCEEDED',
    details: { metadata: { quota, limit: String(limit) } },
  });

  describe('a put', () => {
    it('succeeds up to the quota of entries, and changes nothing above the quota', async () => {
      store.create('towns', ALICE);
      await put('towns', writer(ALICE), 10);
      await expect(put('towns', writer(ALICE), 1, 10)).rejects.toMatchObject(refused('entries', 10));
      expect(store.amount('towns').entries).toBe(10);
    });

    it('succeeds up to the quota of bytes, which counts the bytes of ids and records', async () => {
      store.create('towns', ALICE);
      await put('towns', writer(ALICE, { bytes: 40 }), 10);
      await expect(put('towns', writer(ALICE, { bytes: 40 }), 1, 10)).rejects.toMatchObject(
        refused('bytes', 40),
      );
    });

    it('counts together with all dictionaries of the caller', async () => {
      store.create('towns', ALICE, fourByteEntries(6));
      store.create('rivers', ALICE);
      await put('rivers', writer(ALICE), 4);
      await expect(put('rivers', writer(ALICE), 1, 4)).rejects.toMatchObject(refused('entries', 10));
    });

    it('counts as if all its entries were new', async () => {
      store.create('towns', ALICE, fourByteEntries(10));
      await expect(put('towns', writer(ALICE), 1)).rejects.toMatchObject(refused('entries', 10));
    });

    it('succeeds after many puts of the same entries, because the sum is read again before a refusal', async () => {
      store.create('towns', ALICE);
      for (let i = 0; i < 30; i += 1) await put('towns', writer(ALICE), 3);
      expect(store.amount('towns').entries).toBe(3);
    });

    it('is refused with a text that names the usage, the quota and the remedy', async () => {
      store.create('towns', ALICE, fourByteEntries(8));
      await expect(put('towns', writer(ALICE), 3)).rejects.toThrow(
        'the dictionaries of "token:alice" have 8 entries, and this call adds 3: the quota is 10 entries, and nothing was changed; delete entries or dictionaries, or ask the operator for a larger quota',
      );
    });

    it('succeeds immediately after a deletion, also if another server has deleted the entries', async () => {
      store.create('towns', ALICE, fourByteEntries(10));
      await expect(put('towns', writer(ALICE), 1, 20)).rejects.toMatchObject({ reason: 'QUOTA_EXCEEDED' });
      store.replace('towns', ALICE, fourByteEntries(9));
      await put('towns', writer(ALICE), 1, 20);
    });

    it('is refused if it exceeds the quota together with the puts in flight', async () => {
      store.create('towns', ALICE);
      let end = () => undefined as void;
      const first = quotas.put('towns', writer(ALICE), fourByteEntries(6), async () => {
        await new Promise<void>((resolve) => (end = resolve));
        store.put('towns', fourByteEntries(6));
      });
      await clock.advance(0);
      await expect(put('towns', writer(ALICE), 6, 10)).rejects.toMatchObject({ reason: 'QUOTA_EXCEEDED' });
      end();
      await first;
      await put('towns', writer(ALICE), 4, 10);
    });

    it('that has failed counts until the sum is read again', async () => {
      store.create('towns', ALICE);
      const failing = quotas.put('towns', writer(ALICE), fourByteEntries(6), () =>
        Promise.reject(new Error('x')),
      );
      await expect(ended(failing)).rejects.toThrow('x');
      await put('towns', writer(ALICE), 6);
      expect(store.amount('towns').entries).toBe(6);
    });
  });

  describe('a caller', () => {
    it.each([
      ['without quotas', { identity: ALICE, quotas: {} }],
      [
        'without a quota of entries or bytes',
        { identity: ALICE, quotas: { leases: 1, commandsPerSecond: 1 } },
      ],
      ['without an identity', { identity: '', quotas: { entries: 1 } }],
    ])('%s costs no read', async (_, by) => {
      store.create('towns', ALICE, fourByteEntries(20));
      await put('towns', by, 20);
      await quotas.checkCreation('rivers', by);
      expect(await quotas.startImport('towns', by)).toBeUndefined();
      expect(store.commands).toEqual([]);
    });

    it('with a quota costs reads every 5 s, and not with each put', async () => {
      store.create('towns', ALICE);
      for (let i = 0; i < 100; i += 1) {
        await quotas.put('towns', writer(ALICE, { entries: 1000 }), fourByteEntries(1), () =>
          Promise.resolve(),
        );
      }
      expect(store.commands).toEqual(['usage', 'owned', 'usage']);
      await clock.advance(5001);
      await put('towns', writer(ALICE), 1);
      expect(store.commands).toHaveLength(6);
    });

    it('that is always refused reads its sum at most ten times a second', async () => {
      store.create('towns', ALICE, fourByteEntries(10));
      const refusals = Array.from({ length: 100 }, () =>
        quotas
          .put('towns', writer(ALICE), fourByteEntries(1), () => Promise.resolve())
          .catch(() => undefined),
      );
      await ended(Promise.all(refusals));
      for (let i = 0; i < 10; i += 1) await put('towns', writer(ALICE), 1).catch(() => undefined);
      expect(store.commands.filter((command) => command === 'owned').length).toBeLessThanOrEqual(12);
    });

    it('that starts many imports reads its sum at most ten times a second', async () => {
      for (let i = 0; i < 100; i += 1) store.create(`dictionary ${i}`, ALICE);
      let started = 0;
      for (let i = 0; i < 100; i += 1)
        void quotas.startImport(`dictionary ${i}`, writer(ALICE)).then(() => (started += 1));
      await clock.advance(1000);
      expect(started).toBeLessThanOrEqual(11);
      await clock.advance(9000);
      expect(started).toBe(100);
    });

    it('after a slow read of many dictionaries waits for 4 times the time of the read before the next one', async () => {
      store.create('towns', ALICE, fourByteEntries(10));
      store.before = (command) => (command === 'owned' ? clock.pass(300) : undefined);
      await put('towns', writer(ALICE), 1).catch(() => undefined);
      store.commands.length = 0;
      const refusal = quotas.put('towns', writer(ALICE), fourByteEntries(1), () => Promise.resolve());
      refusal.catch(() => undefined);
      await clock.advance(1180);
      expect(store.commands).toEqual([]);
      await clock.advance(20);
      await expect(refusal).rejects.toMatchObject({ reason: 'QUOTA_EXCEEDED' });
    });

    it('notices the writes of another server after 5 s', async () => {
      store.create('towns', ALICE);
      await put('towns', writer(ALICE), 1);
      store.put('towns', fourByteEntries(9, 20));
      await put('towns', writer(ALICE), 1, 10);
      await clock.advance(5001);
      await expect(put('towns', writer(ALICE), 1, 11)).rejects.toMatchObject({ reason: 'QUOTA_EXCEEDED' });
    });

    it('above its quota cannot create a dictionary, and exactly at its quota can', async () => {
      store.create('towns', ALICE, fourByteEntries(10));
      await quotas.checkCreation('rivers', writer(ALICE));
      store.put('towns', fourByteEntries(1, 20));
      await clock.advance(5001);
      await expect(ended(quotas.checkCreation('rivers', writer(ALICE)))).rejects.toMatchObject(
        refused('entries', 10),
      );
    });
  });

  describe('a put to a dictionary of another owner', () => {
    it('counts with the dictionaries of both owners, so that two identities cannot fill the dictionaries of each other', async () => {
      for (const [owner, name] of [
        [ALICE, 'a'],
        [BOB, 'b'],
      ] as const)
        store.create(name, owner);
      store.create('b too', BOB);
      await put('b', writer(ALICE), 6);
      await put('b too', writer(ALICE), 4);
      await expect(put('b', writer(ALICE), 1, 6)).rejects.toMatchObject(refused('entries', 10));
      await expect(put('b', writer(BOB), 1, 6)).rejects.toMatchObject(refused('entries', 10));
      await expect(put('a', writer(BOB), 1)).rejects.toMatchObject(refused('entries', 10));
      await put('a', writer(ALICE), 10);
      expect([store.total(ALICE).entries, store.total(BOB).entries]).toEqual([10, 10]);
    });

    it('is refused with a text that does not say how much the other owner has', async () => {
      store.create('b', BOB, fourByteEntries(9));
      await expect(put('b', writer(ALICE), 2, 20)).rejects.toThrow(
        'the dictionaries of "token:alice" have 0 entries, the entries of the owner of dictionary "b" count too, and this call adds 2: the quota is 10 entries',
      );
    });

    it('counts for the owner', async () => {
      store.create('b', BOB);
      await put('b', writer(ALICE), 6);
      await expect(put('b', writer(BOB), 5, 20)).rejects.toMatchObject({ reason: 'QUOTA_EXCEEDED' });
    });

    it('counts with this dictionary alone if nobody owns it', async () => {
      store.create('old', '', fourByteEntries(5));
      store.create('older', '', fourByteEntries(50));
      store.create('mine', ALICE, fourByteEntries(2));
      await put('old', writer(ALICE), 3, 20);
      await expect(put('old', writer(ALICE), 1, 30)).rejects.toMatchObject({ reason: 'QUOTA_EXCEEDED' });
      await put('mine', writer(ALICE), 8, 20);
    });

    it('counts for the new owner after a deletion on this server', async () => {
      store.create('towns', ALICE);
      await put('towns', writer(ALICE), 1);
      store.dictionaries.delete('towns');
      quotas.forget('towns');
      store.create('towns', BOB, fourByteEntries(10));
      await expect(put('towns', writer(ALICE), 1, 20)).rejects.toMatchObject({ reason: 'QUOTA_EXCEEDED' });
    });
  });

  describe('an import', () => {
    const start = async (name: string, by = writer(ALICE)) => {
      const quota = await ended(quotas.startImport(name, by));
      if (quota === undefined) throw new Error('the import has no quota');
      return quota;
    };
    /** Imports entries in batches of 5. */
    const importAll = async (name: string, count: number, by = writer(ALICE)) => {
      const quota = await start(name, by);
      for (let from = 0; from < count; from += 5)
        await ended(quota.add(fourByteEntries(Math.min(5, count - from), from)));
      await ended(
        quota.commit(() => Promise.resolve(store.replace(name, by.identity, fourByteEntries(count)))),
      );
    };

    it('of a dictionary as large as the quota succeeds each time', async () => {
      for (let night = 0; night < 5; night += 1) {
        await importAll('towns', 10);
        await clock.advance(1000);
      }
      expect(store.amount('towns').entries).toBe(10);
    });

    it('is refused at the batch that exceeds the quota', async () => {
      store.create('rivers', ALICE, fourByteEntries(3));
      const quota = await start('towns');
      await quota.add(fourByteEntries(5));
      await expect(ended(quota.add(fourByteEntries(3)))).rejects.toMatchObject(refused('entries', 10));
      await quota.add(fourByteEntries(2));
    });

    it('does not start if the other dictionaries exceed the quota', async () => {
      store.create('rivers', ALICE, fourByteEntries(11));
      await expect(start('towns')).rejects.toMatchObject(refused('entries', 10));
    });

    it('is refused at its commit if another import was committed meanwhile', async () => {
      const [one, other] = [await start('one'), await start('other')];
      for (const quota of [one, other]) await quota.add(fourByteEntries(10));
      await ended(one.commit(() => Promise.resolve(store.replace('one', ALICE, fourByteEntries(10)))));
      const commit = jest.fn(() => Promise.resolve());
      await expect(ended(other.commit(commit))).rejects.toMatchObject(refused('entries', 10));
      expect(commit).not.toHaveBeenCalled();
    });

    it('is refused at its commit while another import is being committed', async () => {
      const [one, other] = [await start('one'), await start('other')];
      for (const quota of [one, other]) await quota.add(fourByteEntries(10));
      let end = (): void => undefined;
      const first = one.commit(() => new Promise<void>((resolve) => (end = resolve)));
      await clock.advance(1000);
      await expect(ended(other.commit(() => Promise.resolve()))).rejects.toMatchObject(
        refused('entries', 10),
      );
      end();
      await first;
    });

    it('of a dictionary of another owner counts with the other dictionaries of both', async () => {
      store.create('mine', ALICE, fourByteEntries(2));
      store.create('b', BOB, fourByteEntries(50));
      store.create('b too', BOB, fourByteEntries(3));
      await importAll('b', 5);
      await expect(importAll('b', 6)).rejects.toMatchObject(refused('entries', 10));
      expect(store.amount('b').entries).toBe(5);
    });

    it('of a dictionary without an owner counts with the dictionaries of the caller', async () => {
      store.create('old', '', fourByteEntries(50));
      await importAll('old', 10);
      await expect(importAll('old', 11)).rejects.toMatchObject(refused('entries', 10));
    });
  });

  describe('while the store does not answer,', () => {
    it('a put is neither made nor refused for its quota, and the next put reads again', async () => {
      store.create('towns', ALICE);
      store.isDown = true;
      const write = jest.fn(() => Promise.resolve());
      const failing = () => ended(quotas.put('towns', writer(ALICE), fourByteEntries(1), write));
      await expect(failing()).rejects.toMatchObject({ reason: 'STORE_UNAVAILABLE' });
      store.before = (command) => void (store.isDown = command === 'owned');
      store.isDown = false;
      await expect(failing()).rejects.toMatchObject({ reason: 'STORE_UNAVAILABLE' });
      expect(write).not.toHaveBeenCalled();
      store.before = () => undefined;
      store.isDown = false;
      await put('towns', writer(ALICE), 1);
    });

    it('a put that would be refused by the kept sum gets STORE_UNAVAILABLE, because entries may be gone', async () => {
      store.create('towns', ALICE, fourByteEntries(9));
      await put('towns', writer(ALICE), 1, 20);
      store.isDown = true;
      await expect(put('towns', writer(ALICE), 1, 21)).rejects.toMatchObject({ reason: 'STORE_UNAVAILABLE' });
    });
  });
});

describe('the accounts of usage', () => {
  const MOST = 1000;

  const accountsOf = (store = new ModelOwnership()) =>
    new UsageAccounts(store, new OwnedDictionaries(store), new ManualClock());

  test('1,000 accounts are kept, and the least recently used account is forgotten first', () => {
    const accounts = accountsOf();
    const [first, second] = [accounts.ofOwner('first'), accounts.ofOwner('second')];
    for (let i = 2; i < MOST; i += 1) accounts.ofOwner(`owner ${i}`);
    expect(accounts.ofOwner('first')).toBe(first);
    accounts.ofOwner('one more');
    expect(accounts.ofOwner('first')).toBe(first);
    expect(accounts.ofOwner('second')).not.toBe(second);
  });

  test('an account with a write in flight is kept, because the write must count', () => {
    const accounts = accountsOf();
    const busy = accounts.ofOwner('busy');
    const end = busy.writes.begin({ entries: 1, bytes: 4 });
    const fill = (round: string) => {
      for (let i = 0; i < MOST; i += 1) accounts.ofOwner(`${round} ${i}`);
    };
    fill('first');
    expect(accounts.ofOwner('busy')).toBe(busy);
    end();
    fill('second');
    expect(accounts.ofOwner('busy')).not.toBe(busy);
  });

  test('an owner and a dictionary without an owner with the same name have different accounts', async () => {
    const store = new ModelOwnership();
    store.create('towns', '', fourByteEntries(3));
    const accounts = accountsOf(store);
    const [owner, dictionary] = [accounts.ofOwner('towns'), accounts.ofUnowned('towns')];
    for (const { whole } of [owner, dictionary]) await whole.refresh(-1);
    expect([owner.whole.amount.entries, dictionary.whole.amount.entries]).toEqual([0, 3]);
  });

  test('the owners of 1,000 dictionaries are kept for 5 s', async () => {
    const [store, clock] = [new ModelOwnership(), new ManualClock()];
    const owners = new DictionaryOwners(store, clock);
    for (let i = 0; i <= MOST; i += 1) store.create(`dictionary ${i}`, `owner ${i}`);
    for (let i = 0; i < MOST; i += 1) await owners.ownerOf(`dictionary ${i}`);
    await clock.advance(5000);
    const reads = async (name: string) => {
      const before = store.commands.length;
      await owners.ownerOf(name);
      return store.commands.length - before;
    };
    expect(await reads('dictionary 0')).toBe(0);
    expect(await reads(`dictionary ${MOST}`)).toBe(1);
    expect(await reads('dictionary 1')).toBe(0);
    expect(await reads('dictionary 0')).toBe(1);
    await clock.advance(1);
    expect(await reads('dictionary 2')).toBe(1);
    expect(await owners.ownerOf('none')).toBeUndefined();
    expect(await reads('none')).toBe(1);
  });
});
