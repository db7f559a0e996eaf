import type { Closing, Opening, Sale } from './market';

/** What an audit has found. Lists name users or items; they are empty where all is well. */
export interface Audit {
  readonly sold: number;
  readonly soldTwice: readonly string[];
  readonly moneyBefore: number;
  readonly moneyAfter: number;
  /** Users whose funds are not what the sales leave them, or below zero. */
  readonly wrongFunds: readonly string[];
  readonly items: number;
  /** Items that are nowhere, in several places, or with somebody who did not buy them. */
  readonly misplaced: readonly string[];
  /** Purchases that a buyer was told of. */
  readonly told: number;
  readonly passed: boolean;
}

/**
 * Compares the evening with the morning by way of the sales: a sale moves one item and its price from one user to
 * another, and nothing else moves anything.
 */
export function auditOf(opening: Opening, closing: Closing, told: number): Audit {
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
    told === closing.sales.length;
  return {
    ...{ sold: closing.sales.length, soldTwice, moneyBefore, moneyAfter, wrongFunds },
    ...{ items: opening.owners.size, misplaced, told, passed },
  };
}

/** One line for people. */
export function auditText(audit: Audit): string {
  const { sold, soldTwice, moneyBefore, moneyAfter, wrongFunds, items, misplaced, told, passed } = audit;
  const asTold = told === sold ? '' : `, but buyers were told of ${count(told)}`;
  return [
    `${passed ? 'ok' : 'FAILED'}: ${count(sold)} sold${asTold}, ${named(soldTwice)} twice`,
    `money ${count(moneyBefore)} before, ${count(moneyAfter)} after, wrong funds ${named(wrongFunds)}`,
    `${count(items)} items, ${named(misplaced)} not in exactly one place`,
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
  const found = (item: string, owner: string) => places.set(item, [...(places.get(item) ?? []), owner]);
  for (const [owner, items] of inventories) for (const item of items) found(item, owner);
  // What is on offer is still its seller's.
  for (const { item, seller } of listings) found(item, seller);
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

/** How many, and the first of them by name. */
function named(names: readonly string[]): string {
  const first = names.slice(0, 5).join(', ');
  return names.length === 0 ? '0' : `${names.length} (${first}${names.length > 5 ? ', …' : ''})`;
}
