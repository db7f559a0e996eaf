import { Callers, type CallerOrder, type CallerQuery } from '../../src/base/callers';
import { ManualClock } from '../support/manual-clock';

function started(maxCount?: number) {
  const clock = new ManualClock();
  const callers = new Callers(clock, maxCount);
  const call = (identity: string, address = '10.0.0.1', times = 1) => {
    const caller = callers.of(identity, address);
    for (let count = 0; count < times; count += 1) callers.called(caller);
    return caller;
  };
  const list = (query: Partial<CallerQuery> = {}) =>
    callers.list({ identity: '', address: '', order: 'calls', count: 500, ...query });
  const listed = (query: Partial<CallerQuery> = {}) =>
    list(query).callers.map(({ identity, address }) => `${identity}@${address}`);
  return { clock, callers, call, list, listed };
}

test('an identity at two addresses is two callers, and an address of two identities too', () => {
  const { call, listed } = started();
  call('a', '10.0.0.1', 3);
  call('a', '10.0.0.2', 2);
  call('b', '10.0.0.1', 1);
  call('a', '10.0.0.1', 1);
  expect(listed()).toEqual(['a@10.0.0.1', 'a@10.0.0.2', 'b@10.0.0.1']);
  expect(listed({ identity: 'a' })).toEqual(['a@10.0.0.1', 'a@10.0.0.2']);
  expect(listed({ address: '10.0.0.1' })).toEqual(['a@10.0.0.1', 'b@10.0.0.1']);
  expect(listed({ address: '10.0.0.1', identity: 'b' })).toEqual(['b@10.0.0.1']);
});

test('the recent counts are of the last 50 to 60 seconds, and the others of all time', async () => {
  const { clock, callers, call, list } = started();
  call('a', '10.0.0.1', 5).refused('OVERLOADED');
  const shown = () =>
    list().callers.map((one) => [one.callCount, one.recentCallCount, one.recentRefusalCount]);
  expect([shown(), callers.recentMs]).toEqual([[[5, 5, 1]], 0]);
  await clock.advance(30_000);
  call('a');
  await clock.advance(25_000);
  expect([shown(), callers.recentMs]).toEqual([[[6, 6, 1]], 55_000]);
  await clock.advance(9000);
  expect([shown(), callers.recentMs]).toEqual([[[6, 1, 0]], 54_000]);
  await clock.advance(30_000);
  expect(shown()).toEqual([[6, 0, 0]]);
  await clock.advance(3_600_000);
  call('a');
  expect([shown(), callers.recentMs]).toEqual([[[7, 1, 0]], 54_000]);
});

test('the callers who call now come first, whatever others did an hour ago', async () => {
  const { clock, call, listed } = started();
  call('yesterday', '10.0.0.1', 1000);
  await clock.advance(3_600_000);
  call('now', '10.0.0.2', 10);
  expect(listed()).toEqual(['now@10.0.0.2', 'yesterday@10.0.0.1']);
});

test.each<[CallerOrder, string]>([
  ['calls', 'caller'],
  ['refusals', 'refused'],
  ['leases', 'holder'],
  ['waiters', 'waiter'],
])('by %s, the list begins with the caller that has the most', (order, first) => {
  const { call, listed } = started();
  for (const name of ['holder', 'waiter', 'refused']) call(name);
  call('caller', '10.0.0.1', 9);
  call('holder').leaseCount = 2;
  call('waiter').waiterCount = 2;
  call('refused').refused('QUOTA_EXCEEDED');
  expect(listed({ order, count: 1 })).toEqual([`${first}@10.0.0.1`]);
});

test('a page of callers comes with the number of all that match', () => {
  const { call, list } = started();
  for (let count = 0; count < 7; count += 1) call(`c${count}`);
  expect(list({ count: 3 })).toMatchObject({ matchCount: 7, callers: { length: 3 } });
});

test('a caller with many calls keeps its place while a hundred thousand addresses come with a call each', () => {
  const { callers, call, listed } = started(256);
  const heavy = call('heavy', '10.0.0.1', 1000);
  for (let count = 0; count < 100_000; count += 1) call('', `2001:db8::${count.toString(16)}`);
  expect(heavy.hasPlace).toBe(true);
  expect(listed({ count: 1 })).toEqual(['heavy@10.0.0.1']);
  expect(callers.size).toBe(256);
  expect(callers.displacedCount).toBe(100_001 - 256);
  expect(callers.other.callCount).toBe(100_001 - 256);
});

test('a new flooder gets a place in a table full of quiet callers', () => {
  const { call, listed } = started(256);
  for (let count = 0; count < 5000; count += 1) call('', `10.1.${count >> 8}.${count & 255}`);
  call('flooder', '10.0.0.9', 50);
  expect(listed({ count: 1 })).toEqual(['flooder@10.0.0.9']);
});

test('the sums of all callers stay true when callers lose their places, and so do the recent ones', async () => {
  const { clock, callers, call, list } = started(16);
  for (let count = 0; count < 100; count += 1) call('', `10.0.0.${count}`, 2).refused('BAD_CREDENTIAL');
  await clock.advance(120_000);
  for (let count = 0; count < 100; count += 1) call('', `10.0.1.${count}`);
  const all = [...list().callers, callers.other];
  const sum = (of: (one: (typeof all)[number]) => number) => all.reduce((total, one) => total + of(one), 0);
  expect(sum((one) => one.callCount)).toBe(300);
  expect(sum((one) => one.refusalCount)).toBe(100);
  expect(sum((one) => one.recentCallCount)).toBe(100);
  expect(callers.other.lastRefusal).toBe('BAD_CREDENTIAL');
});

test.each(['openCount', 'leaseCount', 'waiterCount'] as const)(
  'a caller with work in progress (%s) keeps its place, and the next caller without one counts as other',
  (count) => {
    const { callers, call } = started(4);
    const busy = ['a', 'b', 'c', 'd'].map((name) => call(name));
    for (const caller of busy) caller[count] = 1;
    expect(call('late', '10.0.0.1', 3)).toBe(callers.other);
    expect([callers.size, callers.displacedCount, callers.other.callCount]).toEqual([4, 1, 3]);
    (busy[2] as (typeof busy)[number])[count] = 0;
    expect(call('later').hasPlace).toBe(true);
    expect(busy.map((caller) => caller.hasPlace)).toEqual([true, true, false, true]);
  },
);
