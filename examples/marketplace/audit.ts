import type { Closing, Opening, Sale } from './market';

/** The result of an audit. An empty list of users or items means no error. */
export interface Audit {
  readonly sold: number;
  readonly soldTwice: readonly string[];
  readonly moneyBefore: number;
  readonly moneyAfter: number;
  /** Users with negative funds, or with funds that do not match the sales. */
  readonly wrongFunds: readonly string[];
  readonly items: number;
  /** Items that are missing, in several places, or owned by a user who did not buy them. */
  readonly misplaced: readonly string[];
  /** The number of purchases that were confirmed to their buyers. */
  readonly confirmed: number;
  readonly passed: boolean;
}

/**
 * Compares the closing state with the opening state and the sales. A sale moves one item to the buyer and its price to
 * the seller. Nothing else moves an item or money.
 */
export function auditOf(opening: Opening, closing: Closing, confirmed: number): Audit {
  const soldTwice = repeatedIn(closing.sales.map(({ item }) => item));
  const moneyBefore = sum(opening.funds.values());
  const moneyAfter = sum(closing.funds.values());
  const wrongFunds = usersWithWrongFunds(opening, closing);
  const misplaced = misplacedItems(opening, closing);
  const passed =
    soldTwice.length === 0 &&
    moneyAfter === moneyBefore &&
    wrongFunds.length === 0 &&
    misplaced.length === 0 &&
    confirmed === closing.sales.length;
  return {
    ...{ sold: closing.sales.length, soldTwice, moneyBefore, moneyAfter, wrongFunds },
    ...{ items: opening.owners.size, misplaced, confirmed, passed },
  };
}

export function auditText(audit: Audit): string {
  const { sold, soldTwice, moneyBefore, moneyAfter, wrongFunds, items, misplaced, confirmed, passed } = audit;
  const confirmedText = confirmed === sold ? '' : `, but ${count(confirmed)} confirmed to buyers`;
  return [
    `${passed ? 'ok' : 'FAILED'}: ${count(sold)} sold${confirmedText}, ${countAndNames(soldTwice)} twice`,
    `money ${count(moneyBefore)} before, ${count(moneyAfter)} after, wrong funds ${countAndNames(wrongFunds)}`,
    `${count(items)} items, ${countAndNames(misplaced)} not in exactly one place`,
  ].join('; ');
}

function usersWithWrongFunds(opening: Opening, { funds, sales }: Closing): string[] {
  const expected = new Map(opening.funds);
  const move = (user: string, cents: number) => expected.set(user, (expected.get(user) ?? 0) + cents);
  for (const { buyer, seller, price } of sales) {
    move(buyer, -price);
    move(seller, price);
  }
  return [...expected]
    .filter(([user, cents]) => cents < 0 || funds.get(user) !== cents)
    .map(([user]) => user);
}

function misplacedItems(opening: Opening, { inventories, listings, sales }: Closing): string[] {
  const places = new Map<string, string[]>();
  const addPlace = (item: string, owner: string) => places.set(item, [...(places.get(item) ?? []), owner]);
  for (const [owner, items] of inventories) for (const item of items) addPlace(item, owner);
  // An item on offer still belongs to its seller.
  for (const { item, seller } of listings) addPlace(item, seller);
  const buyerOf = new Map(sales.map((sale: Sale) => [sale.item, sale.buyer]));
  const isRight = (item: string) =>
    places.get(item)?.length === 1 &&
    places.get(item)?.[0] === (buyerOf.get(item) ?? opening.owners.get(item));
  return [...new Set([...opening.owners.keys(), ...places.keys()])].filter((item) => !isRight(item));
}

function repeatedIn(values: readonly string[]): string[] {
  const seen = new Set<string>();
  return [...new Set(values.filter((value) => seen.has(value) || !seen.add(value)))];
}

function sum(values: Iterable<number>): number {
  return [...values].reduce((total, value) => total + value, 0);
}

function count(value: number): string {
  return value.toLocaleString('en');
}

/** The number of names, and the first five names. */
function countAndNames(names: readonly string[]): string {
  const first = names.slice(0, 5).join(', ');
  return names.length === 0 ? '0' : `${names.length} (${first}${names.length > 5 ? ', …' : ''})`;
}
