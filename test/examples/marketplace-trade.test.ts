import { setTimeout as sleep } from 'node:timers/promises';
import { coarse, fine } from '../../examples/marketplace/locked-trade';
import type { Outcome, Trade } from '../../examples/marketplace/trade';
import { Country, gate, offered, PRICE, type Town } from './town';

let country: Country;
beforeAll(async () => (country = await Country.open()));
afterAll(() => country?.close());

const EIGHT = ['1', '2', '3', '4', '5', '6', '7', '8'];
const townOfEight = () => country.town(Object.fromEntries(EIGHT.map((user) => [user, 1000])));

/** Each buys what the next one offers: everybody is a buyer and a seller at the same time. */
function buyInCircle(trades: readonly Trade[]): Promise<Outcome[]> {
  return Promise.all(
    trades.map((trade, index) => trade.buy(EIGHT[index]!, offered(EIGHT[(index + 1) % EIGHT.length]!))),
  );
}

const retriesOf = (trades: readonly Trade[]) => trades.reduce((sum, { retries }) => sum + retries, 0);

describe.each<[string, (town: Town) => Promise<Trade>]>([
  ['WATCH/MULTI/EXEC', (town) => town.watched()],
  ['one lock for the market', async (town) => town.locked(coarse)],
  ['a lock for each item', async (town) => town.locked(fine)],
])('with %s', (_name, tradeIn) => {
  test('a purchase moves the item and the money, and the next buyer finds it gone (chapter 21)', async () => {
    const town = await country.town({ 1: 1000, 2: 1000, 3: 0 });
    const trade = await tradeIn(town);
    await expect(trade.buy('1', offered('3'))).resolves.toBe('done');
    await expect(trade.buy('2', offered('3'))).resolves.toBe('gone');
    const closing = await town.closing();
    expect(Object.fromEntries(closing.funds)).toEqual({ 1: 1000 - PRICE, 2: 1000, 3: PRICE });
    expect(closing.inventories.get('1')).toEqual(['item-3']);
    expect(closing.listings).not.toContainEqual(offered('3'));
    expect(await town.audit(1)).toMatchObject({ passed: true, sold: 1 });
  });

  test('what a buyer cannot pay stays where it is (chapter 21)', async () => {
    const town = await country.town({ 1: PRICE - 1, 2: 0 });
    const trade = await tradeIn(town);
    await expect(trade.buy('1', offered('2'))).resolves.toBe('poor');
    expect(await town.audit(0)).toMatchObject({ passed: true, sold: 0 });
  });

  test('what was bought can be listed, once, and bought again', async () => {
    const town = await country.town({ 1: 1000, 2: 1000 });
    const trade = await tradeIn(town);
    const resale = { item: 'item-2', seller: '1' };
    await trade.buy('1', offered('2'));
    await expect(trade.list(resale, PRICE)).resolves.toBe('done');
    await expect(trade.list(resale, PRICE)).resolves.toBe('gone');
    expect((await town.closing()).listings).toContainEqual(resale);
    await expect(trade.buy('2', resale)).resolves.toBe('done');
    expect(Object.fromEntries((await town.closing()).funds)).toEqual({ 1: 1000, 2: 1000 });
  });

  test('of many who want the same item at the same time one gets it', async () => {
    const town = await townOfEight();
    const trades = await Promise.all(EIGHT.slice(1).map(() => tradeIn(town)));
    const outcomes = await Promise.all(
      trades.map((trade, index) => trade.buy(EIGHT[index + 1]!, offered('1'))),
    );
    expect([...outcomes].sort()).toEqual(['done', ...Array<Outcome>(6).fill('gone')]);
    expect(await town.audit(1)).toMatchObject({ passed: true, sold: 1 });
  });
});

describe('under contention', () => {
  test('of eight who watch the market and buy different things seven begin again (chapter 22)', async () => {
    const town = await townOfEight();
    const beforeWrite = gate(8);
    const trades = await Promise.all(EIGHT.map(() => town.watched({ beforeWrite })));
    expect(new Set(await buyInCircle(trades))).toEqual(new Set(['done']));
    expect(retriesOf(trades)).toBeGreaterThanOrEqual(7);
    expect(await town.audit(8)).toMatchObject({ passed: true, sold: 8 });
  });

  test('with one lock nobody begins again, and one at a time is between look and write (chapter 22)', async () => {
    const town = await townOfEight();
    let inside = 0;
    let most = 0;
    const beforeWrite = async () => {
      most = Math.max(most, ++inside);
      // Others come in meanwhile, if they can.
      await town.visit('1');
      inside -= 1;
    };
    const trades = EIGHT.map(() => town.locked(coarse, { beforeWrite }));
    expect(new Set(await buyInCircle(trades))).toEqual(new Set(['done']));
    expect(most).toBe(1);
    expect(retriesOf(trades)).toBe(0);
    expect(await town.audit(8)).toMatchObject({ passed: true, sold: 8 });
  });

  test('with a lock for each item all are between look and write at once, and who buy from each other do not wait for each other (chapter 23)', async () => {
    const town = await townOfEight();
    // Whoever waited for one of the others would keep the gate shut for ever.
    const beforeWrite = gate(8);
    const trades = EIGHT.map(() => town.locked(fine, { beforeWrite }));
    expect(new Set(await buyInCircle(trades))).toEqual(new Set(['done']));
    expect(retriesOf(trades)).toBe(0);
    expect(await town.audit(8)).toMatchObject({ passed: true, sold: 8 });
  });

  test("the locks of two items do not let a buyer's money be spent twice (chapter 23)", async () => {
    const town = await country.town({ 1: PRICE, 2: 0, 3: 0 });
    const beforeWrite = gate(2);
    const outcomes = await Promise.all(
      ['2', '3'].map((seller) => town.locked(fine, { beforeWrite }).buy('1', offered(seller))),
    );
    expect([...outcomes].sort()).toEqual(['done', 'poor']);
    expect(await town.audit(1)).toMatchObject({ passed: true, sold: 1 });
  });

  test('what is watched and never stands still is given up', async () => {
    const town = await country.town({ 1: 1000, 2: 0 });
    const trade = await town.watched({ beforeWrite: () => town.visit('1'), waitMs: 100 });
    await expect(trade.buy('1', offered('2'))).resolves.toBe('contended');
    expect(trade.retries).toBeGreaterThan(0);
    expect(await town.audit(0)).toMatchObject({ passed: true });
  });

  test('a lock that others do not give back is given up, and not taken from them (chapter 19)', async () => {
    const town = await country.town({ 1: 1000, 2: 0 });
    const held = await town.locks().acquire(town.lock(coarse, ''));
    await expect(town.locked(coarse, { waitMs: 50 }).buy('1', offered('2'))).resolves.toBe('contended');
    await expect(town.locks().release(held!)).resolves.toBe(true);
    await expect(town.locked(coarse, { waitMs: 50 }).buy('1', offered('2'))).resolves.toBe('done');
  });
});

describe('a buyer that is stopped for longer than its ttl', () => {
  const ttlMs = 1000;

  test('writes too late, and is refused by its token (chapter 21)', async () => {
    const town = await country.town({ 1: 1000, 2: 1000, 3: 0 });
    const bob = town.locked(fine);
    // Between her last look at the clock and her write alice is stopped for as long as bob needs.
    const beforeWrite = async () => expect(await bob.buy('2', offered('3'))).toBe('done');
    await expect(town.locked(fine, { ttlMs, beforeWrite }).buy('1', offered('3'))).resolves.toBe('refused');
    expect((await town.closing()).inventories.get('2')).toEqual(['item-3']);
    expect(await town.audit(1)).toMatchObject({ passed: true, sold: 1 });
  });

  test('is refused also where the next one has looked and not yet written', async () => {
    const town = await country.town({ 1: 1000, 2: 1000, 3: 0 });
    let bob: Promise<Outcome> | undefined;
    const stopped = () =>
      new Promise<void>((goOn) => {
        const beforeWrite = async () => {
          goOn();
          await alice;
        };
        bob = town.locked(fine, { beforeWrite }).buy('2', offered('3'));
      });
    const alice = town.locked(fine, { ttlMs, beforeWrite: stopped }).buy('1', offered('3'));
    await expect(alice).resolves.toBe('refused');
    await expect(bob).resolves.toBe('done');
    expect(await town.audit(1)).toMatchObject({ passed: true, sold: 1 });
  });

  test('would sell the item twice without its token, and the audit says so', async () => {
    const town = await country.town({ 1: 1000, 2: 1000, 3: 0 });
    const lock = town.lock(fine, 'item-3');
    const sale = { ...offered('3'), price: PRICE };
    const alice = await town.locks({ ttlMs }).acquire(lock);
    await town.fenced.lookAtListing({ lock, token: alice!.token }, '1', sale);
    await expect(town.locked(fine).buy('2', sale)).resolves.toBe('done');
    const late = { ...sale, buyer: '1' };
    await expect(town.fenced.transfer({ lock, token: alice!.token }, late)).resolves.toBe('refused');
    expect(await town.audit(1)).toMatchObject({ passed: true });
    // As a market that looks at no tokens takes it.
    await expect(town.fenced.transfer({ lock: 'none', token: 0n }, late)).resolves.toBe('done');
    expect(await town.audit(2)).toMatchObject({
      passed: false,
      soldTwice: ['item-3'],
      misplaced: ['item-3'],
    });
  });

  test('does not even write when it looks at the clock in time', async () => {
    const town = await country.town({ 1: 1000, 2: 0 });
    const locks = town.locks({ ttlMs });
    // Stopped between the grant and its first look.
    const slow = {
      acquire: async (name: string) => {
        const held = await locks.acquire(name);
        await sleep(held!.until - performance.now() + 1);
        return held;
      },
      release: locks.release.bind(locks),
      resent: 0,
    };
    await expect(town.locked(fine, {}, slow).buy('1', offered('2'))).resolves.toBe('late');
    expect(await town.audit(0)).toMatchObject({ passed: true, sold: 0 });
    await town.locked(fine).buy('1', offered('2'));
    await expect(town.locked(fine, {}, slow).list({ item: 'item-2', seller: '1' }, PRICE)).resolves.toBe(
      'late',
    );
    expect(await town.audit(1)).toMatchObject({ passed: true, sold: 1 });
  });
});
