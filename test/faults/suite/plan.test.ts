import fc from 'fast-check';
import { FAULT_NAMES, faultOf } from './nemesis/faults';
import { planRound, TOPOLOGIES } from './plan';

const seeds = fc.integer({ min: 0, max: 2 ** 31 });
const plan = (seed: number, canStepClocks = true) => planRound({ seed, topology: 'one', canStepClocks });

test('the plan is the same for the same seed', () => {
  // The plans are compared as text, because deep comparisons of whole plans take seconds.
  const text = (seed: number) => JSON.stringify(plan(seed));
  fc.assert(
    fc.property(seeds, (seed) => {
      const first = text(seed);
      return text(seed) === first;
    }),
  );
  expect(plan(1)).not.toEqual(plan(2));
});

test('a plan orders its faults by time and has a quiet end', () => {
  fc.assert(
    fc.property(seeds, (seed) => {
      const { steps, trafficMs } = plan(seed);
      const times = steps.map(({ atMs }) => atMs);
      expect(times).toEqual([...times].sort((a, b) => a - b));
      expect(Math.max(...times)).toBeLessThan(trafficMs - 9_000);
    }),
  );
});

test('plans have few faults that pause grants, and some plans have none', () => {
  for (const topology of TOPOLOGIES) {
    const counts = Array.from({ length: 100 }, (_, seed) => {
      const { steps, appendfsync } = planRound({ seed, topology, canStepClocks: true });
      return steps.filter(({ fault }) => faultOf(fault).pauses?.({ topology, appendfsync })).length;
    });
    expect(Math.max(...counts)).toBeGreaterThan(3);
    expect(counts.filter((count) => count === 0).length).toBeGreaterThan(10);
    expect(counts.filter((count) => count > 2).length).toBeLessThan(30);
  }
});

test('a plan has the proxies and clocks that its faults need', () => {
  fc.assert(
    fc.property(seeds, fc.boolean(), (seed, canStepClocks) => {
      const { steps, withStoreProxy, withClientProxy, withClocks } = plan(seed, canStepClocks);
      const needs = new Set(steps.map(({ fault }) => faultOf(fault).needs));
      if (needs.has('store proxy')) expect(withStoreProxy).toContain(true);
      if (needs.has('client proxy')) expect(withClientProxy).toContain(true);
      if (needs.has('clocks')) expect(withClocks).toBe(true);
      if (!canStepClocks) expect(withClocks).toBe(false);
    }),
  );
});

test('every fault is in some plan', () => {
  const steps = TOPOLOGIES.flatMap((topology) =>
    Array.from({ length: 200 }, (_, seed) => planRound({ seed, topology, canStepClocks: true }).steps),
  );
  const drawn = new Set(steps.flat().map(({ fault }) => fault));
  expect([...drawn].sort()).toEqual([...FAULT_NAMES].sort());
});

test('a plan sets the first limit of every semaphore again at the end, so that all waiters can be served', () => {
  fc.assert(
    fc.property(seeds, (seed) => {
      const { resources, limitMoves } = plan(seed);
      const last = new Map(limitMoves.map(({ label, limit }) => [label, limit]));
      const firstLimits = resources.map(({ service, limit }) => (service === 'lock' ? undefined : limit));
      expect(resources.map(({ label }) => last.get(label))).toEqual(firstLimits);
    }),
  );
});

test('no label of a resource is the end of another label', () => {
  const labels = plan(1).resources.map(({ label }) => label);
  for (const label of labels) expect(labels.filter((other) => other.endsWith(label))).toEqual([label]);
});
