import { auditOf, auditText } from '../../examples/marketplace/audit';
import type { Closing, Opening } from '../../examples/marketplace/market';

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
