import type { Opening } from './market';
import { randomFrom } from './random';

const LOWEST_PRICE = 500;
const HIGHEST_PRICE = 1500;
/** More cents than a buyer can spend in a run. */
const LARGE_FUNDS = 100_000_000;
/** The cents for about twenty purchases. One buyer gets this amount, so that each run has a buyer without money. */
const SMALL_FUNDS = 10_000;

export interface Population {
  readonly buyers: readonly string[];
  readonly sellers: readonly string[];
}

export function population(buyers: number, sellers: number): Population {
  const users = Array.from({ length: buyers + sellers }, (_, index) => String(index + 1));
  return { buyers: users.slice(0, buyers), sellers: users.slice(buyers) };
}

/** The first buyer has little money, the other buyers much. Sellers have the items, and half of them are on offer. */
export function openingOf({ buyers, sellers }: Population, items: number, seed: number): Opening {
  const funds = new Map<string, number>([
    ...buyers.map(
      (buyer, index) => [buyer, index === 0 && buyers.length > 1 ? SMALL_FUNDS : LARGE_FUNDS] as const,
    ),
    ...sellers.map((seller) => [seller, 0] as const),
  ]);
  const owners = new Map<string, string>();
  const onOffer = new Map<string, number>();
  for (let number = 1; number <= items; number++) {
    const item = `item-${number}`;
    owners.set(item, sellers[number % sellers.length] ?? '');
    if (number <= items / 2) onOffer.set(item, priceOf(item, seed));
  }
  return { funds, owners, onOffer };
}

/** The price depends only on the item's name and the seed. */
export function priceOf(item: string, seed: number): number {
  const random = randomFrom(seed + 7919 * Number(item.replace('item-', '')));
  return LOWEST_PRICE + Math.floor(random() * (HIGHEST_PRICE - LOWEST_PRICE));
}
