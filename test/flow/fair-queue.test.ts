import fc from 'fast-check';
import { FairQueue } from '../../src/flow/fair-queue';

const CALLERS = ['alice', 'bob', 'carol', undefined] as const;
type Caller = (typeof CALLERS)[number];

function filled(items: readonly Caller[]): FairQueue<{ caller: Caller; at: number }> {
  const queue = new FairQueue<{ caller: Caller; at: number }>();
  for (const [at, caller] of items.entries()) queue.push(caller, { caller, at });
  return queue;
}

/** The callers of the next items. */
function serve(queue: FairQueue<string>, count: number): (string | undefined)[] {
  return Array.from({ length: count }, () => queue.shift());
}

it('serves one item of each caller in each round', () => {
  const queue = filled([...Array<Caller>(1000).fill('alice'), ...Array<Caller>(1000).fill('bob'), 'carol']);
  const served = Array.from({ length: 100 }, () => queue.shift()?.caller);
  expect(served).toContain('carol');
  const ofAlice = served.filter((caller) => caller === 'alice').length;
  expect(Math.abs(ofAlice - (99 - ofAlice))).toBeLessThanOrEqual(2);
});

it('serves a new caller within two items while a hundred served callers wait', () => {
  const queue = new FairQueue<string>();
  const callers = Array.from({ length: 100 }, (_, at) => `busy ${at}`);
  for (const caller of callers) for (let item = 0; item < 5; item += 1) queue.push(caller, caller);
  serve(queue, 200);
  queue.push('new', 'new');
  expect(serve(queue, 2)).toContain('new');
});

it('gives a caller with many items no more than each of a hundred callers that come back after each item', () => {
  const queue = new FairQueue<string>();
  for (let item = 0; item < 5000; item += 1) queue.push('busy', 'busy');
  for (let at = 0; at < 100; at += 1) queue.push(`light ${at}`, `light ${at}`);
  const counts = new Map<string, number>();
  for (let served = 0; served < 2000; served += 1) {
    const caller = queue.shift()!;
    counts.set(caller, (counts.get(caller) ?? 0) + 1);
    if (caller !== 'busy') queue.push(caller, caller);
  }
  expect(Math.max(...counts.values())).toBeLessThanOrEqual(25);
  expect(Math.min(...counts.values())).toBeGreaterThan(15);
});

it('serves the callers of a round at least every second time, while new callers come without end', () => {
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

it('never serves more items before a new item than `ahead` has announced', () => {
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
