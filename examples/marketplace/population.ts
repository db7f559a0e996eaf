import type { Opening } from './market';
import { randomFrom } from './random';

const CHEAPEST = 500;
const DEAREST = 1500;
/** Enough for whatever comes. */
const PURSE = 100_000_000;
/** Enough for some twenty purchases: where there are others, one has to meet the end of the money. */
const SMALL_PURSE = 10_000;

export interface Population {
  readonly buyers: readonly string[];
  readonly sellers: readonly string[];
}

export function population(buyers: number, sellers: number): Population {
  const users = Array.from({ length: buyers + sellers }, (_, index) => String(index + 1));
  return { buyers: users.slice(0, buyers), sellers: users.slice(buyers) };
}

/** Buyers have the money, the first of them little; sellers have the items, in equal shares, half of them on offer. */
export function openingOf({ buyers, sellers }: Population, items: number, seed: number): Opening {
  const funds = new Map<string, number>([
    ...buyers.map((buyer, index) => [buyer, index === 0 && buyers.length > 1 ? SMALL_PURSE : PURSE] as const),
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

/** An item's price is a matter of its name and the seed, whoever lists it and when. */
export function priceOf(item: string, seed: number): number {
  const random = randomFrom(seed + 7919 * Number(item.replace('item-', '')));
  return CHEAPEST + Math.floor(random() * (DEAREST - CHEAPEST));
}
