import { once } from 'node:events';
import { HoldfastError, UnavailableError } from '@holdfast/client';
import { auditOf, auditText } from '../../examples/marketplace/audit';
import { coarse, fine, type Locking } from '../../examples/marketplace/locked-trade';
import type { Closing, Opening } from '../../examples/marketplace/market';
import type { Outcome, Trade } from '../../examples/marketplace/trade';
import { gate, listingOf, MarketStage, PRICE, type TestMarket } from './test-market';

describe('marketplace trade', () => {
  let stage: MarketStage;
  beforeAll(async () => (stage = await MarketStage.open()));
  afterAll(() => stage?.close());

  const EIGHT = ['1', '2', '3', '4', '5', '6', '7', '8'];
  const marketOfEight = () => stage.market(Object.fromEntries(EIGHT.map((user) => [user, 1000])));

  /** Each user buys the item of the next user, so each user is a buyer and a seller at the same time. */
  function buyInCircle(trades: readonly Trade[]): Promise<Outcome[]> {
    return Promise.all(
      trades.map((trade, index) => trade.buy(EIGHT[index]!, listingOf(EIGHT[(index + 1) % EIGHT.length]!))),
    );
  }

  const retriesOf = (trades: readonly Trade[]) => trades.reduce((sum, { retries }) => sum + retries, 0);

  describe.each<[string, (market: TestMarket) => Promise<Trade>]>([
    ['WATCH/MULTI/EXEC', (market) => market.watched()],
    ['one lock for the market', async (market) => market.locked(coarse)],
    ['a lock for each item', async (market) => market.locked(fine)],
  ])('the marketplace with %s', (_name, tradeIn) => {
    test('moves the item and the money to their new owners, and answers `gone` to the next buyer (chapter 21)', async () => {
      const market = await stage.market({ 1: 1000, 2: 1000, 3: 0 });
      const trade = await tradeIn(market);
      await expect(trade.buy('1', listingOf('3'))).resolves.toBe('done');
      await expect(trade.buy('2', listingOf('3'))).resolves.toBe('gone');
      const closing = await market.closing();
      expect(Object.fromEntries(closing.funds)).toEqual({ 1: 1000 - PRICE, 2: 1000, 3: PRICE });
      expect(closing.inventories.get('1')).toEqual(['item-3']);
      expect(closing.listings).not.toContainEqual(listingOf('3'));
      expect(await market.audit(1)).toMatchObject({ passed: true, sold: 1 });
    });

    test('moves nothing when the buyer cannot pay (chapter 21)', async () => {
      const market = await stage.market({ 1: PRICE - 1, 2: 0 });
      const trade = await tradeIn(market);
      await expect(trade.buy('1', listingOf('2'))).resolves.toBe('poor');
      expect(await market.audit(0)).toMatchObject({ passed: true, sold: 0 });
    });

    test('lets the buyer of an item list the item once, and sells the item again', async () => {
      const market = await stage.market({ 1: 1000, 2: 1000 });
      const trade = await tradeIn(market);
      const resale = { item: 'item-2', seller: '1' };
      await trade.buy('1', listingOf('2'));
      await expect(trade.list(resale, PRICE)).resolves.toBe('done');
      await expect(trade.list(resale, PRICE)).resolves.toBe('gone');
      expect((await market.closing()).listings).toContainEqual(resale);
      await expect(trade.buy('2', resale)).resolves.toBe('done');
      expect(Object.fromEntries((await market.closing()).funds)).toEqual({ 1: 1000, 2: 1000 });
    });

    test('sells an item to exactly one of seven concurrent buyers', async () => {
      const market = await marketOfEight();
      const trades = await Promise.all(EIGHT.slice(1).map(() => tradeIn(market)));
      const outcomes = await Promise.all(
        trades.map((trade, index) => trade.buy(EIGHT[index + 1]!, listingOf('1'))),
      );
      expect([...outcomes].sort()).toEqual(['done', ...Array<Outcome>(6).fill('gone')]);
      expect(await market.audit(1)).toMatchObject({ passed: true, sold: 1 });
    });
  });

  describe('the marketplace under contention', () => {
    test('makes at least seven retries for eight concurrent WATCH purchases of different items (chapter 22)', async () => {
      const market = await marketOfEight();
      const beforeWrite = gate(8);
      const trades = await Promise.all(EIGHT.map(() => market.watched({ beforeWrite })));
      expect(new Set(await buyInCircle(trades))).toEqual(new Set(['done']));
      expect(retriesOf(trades)).toBeGreaterThanOrEqual(7);
      expect(await market.audit(8)).toMatchObject({ passed: true, sold: 8 });
    });

    test('needs no retry with a single lock, which lets one buyer at a time read and write (chapter 22)', async () => {
      const market = await marketOfEight();
      let activeCount = 0;
      let maxActiveCount = 0;
      const beforeWrite = async () => {
        maxActiveCount = Math.max(maxActiveCount, ++activeCount);
        // This command gives another buyer the time to enter, unless the lock keeps the other buyer out.
        await market.visit('1');
        activeCount -= 1;
      };
      const trades = EIGHT.map(() => market.locked(coarse, { beforeWrite }));
      expect(new Set(await buyInCircle(trades))).toEqual(new Set(['done']));
      expect(maxActiveCount).toBe(1);
      expect(retriesOf(trades)).toBe(0);
      expect(await market.audit(8)).toMatchObject({ passed: true, sold: 8 });
    });

    test('lets eight buyers trade at the same time with a lock for each item, and has no deadlock (chapter 23)', async () => {
      const market = await marketOfEight();
      // The gate opens when all eight buyers have their locks at the same time.
      const beforeWrite = gate(8);
      const trades = EIGHT.map(() => market.locked(fine, { beforeWrite }));
      expect(new Set(await buyInCircle(trades))).toEqual(new Set(['done']));
      expect(retriesOf(trades)).toBe(0);
      expect(await market.audit(8)).toMatchObject({ passed: true, sold: 8 });
    });

    test("spends a buyer's money once when the buyer holds the locks of two items (chapter 23)", async () => {
      const market = await stage.market({ 1: PRICE, 2: 0, 3: 0 });
      const beforeWrite = gate(2);
      const outcomes = await Promise.all(
        ['2', '3'].map((seller) => market.locked(fine, { beforeWrite }).buy('1', listingOf(seller))),
      );
      expect([...outcomes].sort()).toEqual(['done', 'poor']);
      expect(await market.audit(1)).toMatchObject({ passed: true, sold: 1 });
    });

    test('gives up a WATCH purchase when a watched key changes all the time', async () => {
      const market = await stage.market({ 1: 1000, 2: 0 });
      const trade = await market.watched({ beforeWrite: () => market.visit('1'), waitMs: 100 });
      await expect(trade.buy('1', listingOf('2'))).resolves.toBe('contended');
      expect(trade.retries).toBeGreaterThan(0);
      expect(await market.audit(0)).toMatchObject({ passed: true });
    });

    test('gives up the wait for a held lock, and leaves the lock to its holder (chapter 19)', async () => {
      const market = await stage.market({ 1: 1000, 2: 0 });
      const held = await market.client.lock(market.lock(coarse, ''));
      await expect(market.locked(coarse, { waitMs: 50 }).buy('1', listingOf('2'))).resolves.toBe('contended');
      await expect(held.release()).resolves.toMatchObject({ released: true });
      await expect(market.locked(coarse, { waitMs: 50 }).buy('1', listingOf('2'))).resolves.toBe('done');
    });

    test.each([
      new UnavailableError('no answer', { reason: '', code: 14 }),
      new HoldfastError('the lease has ended', { reason: 'REQUEST_FINISHED', code: 9 }),
    ])('gives up after $name $reason', async (error) => {
      const market = await stage.market({ 1: 1000, 2: 0 });
      const client: Locking['client'] = { lock: () => Promise.reject(error) };
      await expect(market.locked(fine, {}, client).buy('1', listingOf('2'))).resolves.toBe('contended');
      expect(await market.audit(0)).toMatchObject({ passed: true, sold: 0 });
    });

    test('reports a refused ttl as an error', async () => {
      const market = await stage.market({ 1: 1000, 2: 0 });
      await expect(market.locked(fine, { ttlMs: 600_000 }).buy('1', listingOf('2'))).rejects.toThrow('ttl');
      expect(await market.audit(0)).toMatchObject({ passed: true, sold: 0 });
    });
  });

  describe('a buyer that is paused for longer than the ttl of its lock', () => {
    const ttlMs = 200;

    /**
     * Locks that check no deadline. A buyer that is paused after its last check of the clock does not notice the deadline.
     */
    const locksWithoutCheck = (market: TestMarket): Locking['client'] => ({
      lock: async (name, options) =>
        Object.assign(await market.client.lock(name, options), { check: () => undefined }),
    });

    test('is refused because of its old token when it writes late (chapter 21)', async () => {
      const market = await stage.market({ 1: 1000, 2: 1000, 3: 0 });
      const bob = market.locked(fine);
      // Bob buys the item while alice is paused between her last check of the clock and her write.
      const beforeWrite = async () => expect(await bob.buy('2', listingOf('3'))).toBe('done');
      await expect(
        market.locked(fine, { beforeWrite, ttlMs }, locksWithoutCheck(market)).buy('1', listingOf('3')),
      ).resolves.toBe('refused');
      expect((await market.closing()).inventories.get('2')).toEqual(['item-3']);
      expect(await market.audit(1)).toMatchObject({ passed: true, sold: 1 });
    });

    test('is refused because of its old token when the next holder has read but not yet written', async () => {
      const market = await stage.market({ 1: 1000, 2: 1000, 3: 0 });
      let bob: Promise<Outcome> | undefined;
      const paused = () =>
        new Promise<void>((resume) => {
          const beforeWrite = async () => {
            resume();
            await alice;
          };
          bob = market.locked(fine, { beforeWrite }).buy('2', listingOf('3'));
        });
      const alice = market
        .locked(fine, { beforeWrite: paused, ttlMs }, locksWithoutCheck(market))
        .buy('1', listingOf('3'));
      await expect(alice).resolves.toBe('refused');
      await expect(bob).resolves.toBe('done');
      expect(await market.audit(1)).toMatchObject({ passed: true, sold: 1 });
    });

    test('buys an item a second time if the market does not check tokens, and the audit finds the second sale', async () => {
      const market = await stage.market({ 1: 1000, 2: 1000, 3: 0 });
      const lock = market.lock(fine, 'item-3');
      const sale = { ...listingOf('3'), price: PRICE };
      const alice = await market.client.lock(lock, market.lockOptions({ ttlMs }));
      const token = alice.fencingToken;
      await market.fenced.readListing({ lock, token }, '1', sale);
      await expect(market.locked(fine).buy('2', sale)).resolves.toBe('done');
      const late = { ...sale, buyer: '1' };
      await expect(market.fenced.transfer({ lock, token }, late)).resolves.toBe('refused');
      expect(await market.audit(1)).toMatchObject({ passed: true });
      // The lock `none` has no token yet, so the sale is accepted, as by a market that does not check tokens.
      await expect(market.fenced.transfer({ lock: 'none', token: 0n }, late)).resolves.toBe('done');
      expect(await market.audit(2)).toMatchObject({
        passed: false,
        soldTwice: ['item-3'],
        misplaced: ['item-3'],
      });
    });

    test('does not write when it checks its clock after its deadline', async () => {
      const market = await stage.market({ 1: 1000, 2: 0 });
      // The buyer is paused between its read and its check of the clock.
      const slow: Locking['client'] = {
        lock: async (name, options) => {
          const lease = await market.client.lock(name, options);
          if (lease.isValid) await once(lease.signal, 'abort');
          const { fencingToken } = lease.toJSON() as { fencingToken: string };
          return Object.defineProperty(lease, 'fencingToken', { value: BigInt(fencingToken) });
        },
      };
      await expect(market.locked(fine, { ttlMs }, slow).buy('1', listingOf('2'))).resolves.toBe('late');
      expect(await market.audit(0)).toMatchObject({ passed: true, sold: 0 });
      await market.locked(fine).buy('1', listingOf('2'));
      await expect(
        market.locked(fine, { ttlMs }, slow).list({ item: 'item-2', seller: '1' }, PRICE),
      ).resolves.toBe('late');
      expect(await market.audit(1)).toMatchObject({ passed: true, sold: 1 });
    });
  });
});

describe('marketplace audit', () => {
  /** Two buyers, and a seller with three items. One item is on offer, and the first buyer buys this item. */
  const opening: Opening = {
    funds: new Map([
      ['1', 1000],
      ['2', 50],
      ['3', 0],
    ]),
    owners: new Map([
      ['item-1', '3'],
      ['item-2', '3'],
      ['item-3', '3'],
    ]),
    onOffer: new Map([['item-1', 100]]),
  };
  const sale = { item: 'item-1', seller: '3', buyer: '1', price: 100 };
  const closing: Closing = {
    funds: new Map([
      ['1', 900],
      ['2', 50],
      ['3', 100],
    ]),
    inventories: new Map([
      ['1', ['item-1']],
      ['2', []],
      ['3', ['item-2']],
    ]),
    listings: [{ item: 'item-3', seller: '3' }],
    sales: [sale],
  };

  const changed = <Key, Value>(map: ReadonlyMap<Key, Value>, ...entries: [Key, Value][]) =>
    new Map([...map, ...entries]);

  test('the audit passes if each sale moved an item and its price, and nothing else changed', () => {
    const audit = auditOf(opening, closing, 1);
    expect(audit).toMatchObject({ passed: true, sold: 1, moneyBefore: 1050, moneyAfter: 1050, items: 3 });
    expect(auditText(audit)).toBe(
      'ok: 1 sold, 0 twice; money 1,050 before, 1,050 after, wrong funds 0; 3 items, 0 not in exactly one place',
    );
  });

  test('the audit finds an item that was sold twice, although the funds match the sales', () => {
    const audit = auditOf(
      opening,
      {
        ...closing,
        funds: new Map([
          ['1', 900],
          ['2', -50],
          ['3', 200],
        ]),
        inventories: changed(closing.inventories, ['2', ['item-1']]),
        sales: [sale, { ...sale, buyer: '2' }],
      },
      2,
    );
    expect(audit).toMatchObject({ passed: false, soldTwice: ['item-1'], misplaced: ['item-1'] });
    expect(audit.moneyAfter).toBe(audit.moneyBefore);
    expect(auditText(audit)).toMatch(/^FAILED: 2 sold, 1 \(item-1\) twice;/);
  });

  test('the audit finds an item that the same buyer bought twice', () => {
    const twice = {
      ...closing,
      funds: changed(closing.funds, ['1', 800], ['3', 200]),
      sales: [sale, sale],
    };
    expect(auditOf(opening, twice, 2)).toMatchObject({ passed: false, soldTwice: ['item-1'], misplaced: [] });
  });

  test.each<[string, Partial<Closing>, object]>([
    ['created', { funds: changed(closing.funds, ['3', 101]) }, { moneyAfter: 1051, wrongFunds: ['3'] }],
    ['lost', { funds: changed(closing.funds, ['1', 899]) }, { moneyAfter: 1049, wrongFunds: ['1'] }],
    [
      'moved to a user without a sale',
      { funds: changed(closing.funds, ['2', 150], ['3', 0]) },
      { moneyAfter: 1050, wrongFunds: ['2', '3'] },
    ],
  ])('the audit finds money that was %s', (_what, change, found) => {
    expect(auditOf(opening, { ...closing, ...change }, 1)).toMatchObject({ passed: false, ...found });
  });

  test.each<[string, Partial<Closing>]>([
    ['missing', { inventories: changed(closing.inventories, ['3', []]) }],
    ['in two inventories', { inventories: changed(closing.inventories, ['2', ['item-2']]) }],
    ['on offer and in an inventory', { listings: [...closing.listings, { item: 'item-2', seller: '3' }] }],
    [
      'owned by a user who did not buy it',
      { inventories: changed(closing.inventories, ['2', ['item-2']], ['3', []]) },
    ],
  ])('the audit finds an item that is %s', (_where, change) => {
    expect(auditOf(opening, { ...closing, ...change }, 1)).toMatchObject({
      passed: false,
      misplaced: ['item-2'],
    });
  });

  test('the audit finds an item that did not exist at the opening', () => {
    const inventories = changed(closing.inventories, ['2', ['item-9']]);
    expect(auditOf(opening, { ...closing, inventories }, 1)).toMatchObject({
      passed: false,
      misplaced: ['item-9'],
    });
  });

  test('the audit finds a purchase that was not confirmed to its buyer', () => {
    const audit = auditOf(opening, closing, 0);
    expect(audit.passed).toBe(false);
    expect(auditText(audit)).toMatch(/^FAILED: 1 sold, but 0 confirmed to buyers,/);
  });
});
