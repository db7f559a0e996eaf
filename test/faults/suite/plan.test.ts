import fc from 'fast-check';
import { FAULT_NAMES, faultOf } from './nemesis/faults';
import { planRound, TOPOLOGIES } from './plan';

const seeds = fc.integer({ min: 0, max: 2 ** 31 });
const plan = (seed: number, canStepClocks = true) => planRound({ seed, topology: 'one', canStepClocks });

test('a plan follows from its seed', () => {
  fc.assert(fc.property(seeds, (seed) => expect(plan(seed)).toEqual(plan(seed))));
  expect(plan(1)).not.toEqual(plan(2));
});

test('faults come in the order of time, and leave quiet at the end', () => {
  fc.assert(
    fc.property(seeds, (seed) => {
      const { steps, trafficMs } = plan(seed);
      const times = steps.map(({ atMs }) => atMs);
      expect(times).toEqual([...times].sort((a, b) => a - b));
      expect(Math.max(...times)).toBeLessThan(trafficMs - 9_000);
    }),
  );
});

test('a round may leave out the faults after which grants pause, so that most rounds are full of grants', () => {
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

test('a round has what its faults need', () => {
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

test('every fault is drawn sooner or later', () => {
  const steps = TOPOLOGIES.flatMap((topology) =>
    Array.from({ length: 200 }, (_, seed) => planRound({ seed, topology, canStepClocks: true }).steps),
  );
  const drawn = new Set(steps.flat().map(({ fault }) => fault));
  expect([...drawn].sort()).toEqual([...FAULT_NAMES].sort());
});

test('every semaphore has its first limit again at the end, so that whoever waits is served', () => {
  fc.assert(
    fc.property(seeds, (seed) => {
      const { resources, limitMoves } = plan(seed);
      for (const { service, label, limit } of resources) {
        const last = limitMoves.findLast((move) => move.label === label);
        expect(last?.limit).toBe(service === 'lock' ? undefined : limit);
      }
    }),
  );
});

test('a limit is set of a name that there is only once', () => {
  const labels = plan(1).resources.map(({ label }) => label);
  for (const label of labels) expect(labels.filter((other) => other.endsWith(label))).toEqual([label]);
});
