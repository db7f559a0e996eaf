import fc from 'fast-check';
import { FairQueue } from '../../src/engine/fair-queue';

const CALLERS = ['alice', 'bob', 'carol', undefined] as const;
type Caller = (typeof CALLERS)[number];

function filled(items: readonly Caller[]): FairQueue<{ caller: Caller; at: number }> {
  const queue = new FairQueue<{ caller: Caller; at: number }>();
  for (const [at, caller] of items.entries()) queue.push(caller, { caller, at });
  return queue;
}

it('serves each caller in turn, so a caller with few items waits for few items of each other caller', () => {
  const queue = filled([...Array<Caller>(1000).fill('alice'), 'bob', 'bob', 'carol']);
  const first = Array.from({ length: 7 }, () => queue.shift()?.caller);
  expect(first).toEqual(['alice', 'alice', 'bob', 'alice', 'carol', 'bob', 'alice']);
});

it('serves a caller that comes before most of a hundred callers that have been served and wait again', () => {
  const queue = new FairQueue<string>();
  const callers = Array.from({ length: 100 }, (_, at) => `busy ${at}`);
  for (const caller of callers) for (let item = 0; item < 5; item += 1) queue.push(caller, caller);
  for (let served = 0; served < 200; served += 1) queue.shift();
  queue.push('new', 'new');
  expect([queue.shift(), queue.shift()]).toContain('new');
});

it('serves callers that wait again every second time, while other callers come without end', () => {
  const queue = new FairQueue<string>();
  for (let item = 0; item < 100; item += 1) queue.push('busy', 'busy');
  const served = Array.from({ length: 100 }, (_, at) => {
    queue.push(`new ${at}`, 'new');
    return queue.shift();
  });
  expect(served.filter((caller) => caller === 'busy').length).toBeGreaterThanOrEqual(50);
});

it('keeps the order of one caller, loses no item, and is then empty', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...CALLERS), { maxLength: 400 }), (items) => {
      const queue = filled(items);
      const served = items.map(() => queue.shift()!);
      expect(served.map(({ at }) => at).sort((a, b) => a - b)).toEqual(items.map((_, at) => at));
      for (const caller of CALLERS) {
        const own = served.filter((item) => item.caller === caller).map(({ at }) => at);
        expect(own).toEqual([...own].sort((a, b) => a - b));
      }
      expect(queue.size).toBe(0);
      expect(queue.shift()).toBeUndefined();
    }),
  );
});

it('never lets more items pass a new item than it has announced', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...CALLERS), { maxLength: 100 }),
      fc.nat(20),
      fc.constantFrom(...CALLERS),
      (items, taken, caller) => {
        const queue = filled(items);
        for (let count = 0; count < taken; count += 1) queue.shift();
        const ahead = queue.ahead(caller);
        queue.push(caller, { caller, at: -1 });
        let passed = 0;
        while (queue.shift()?.at !== -1) passed += 1;
        expect(passed).toBeLessThanOrEqual(ahead);
      },
    ),
  );
});
