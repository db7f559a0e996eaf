import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { InProcessServer } from '../../end-to-end/in-process-server';
import { applyPatch, compile, EMBEDDED, patched } from '../../support/build-variant';
import { closeAll } from '../../support/eventually';
import { RedisProcess } from '../../support/processes/redis-process';
import { ROOT } from '../../support/root';
import { MUTANT_NAMES, mutantOf } from './mutants/mutants';
import { luaPatch } from './mutants/patch';
import { FAULT_NAMES, faultOf } from './nemesis/faults';
import { planRound, TOPOLOGIES } from './plan';
import { StoreView } from './store-view';
import type { SuiteStore } from './stores/store';
import { assertWithinTime } from '../../support/timed-property';

describe('plan', () => {
  const seeds = fc.integer({ min: 0, max: 2 ** 31 });
  const plan = (seed: number, canStepClocks = true) => planRound({ seed, topology: 'one', canStepClocks });

  test('the plan is the same for the same seed', () => {
    // The plans are compared as text, because deep comparisons of whole plans take seconds.
    const text = (seed: number) => JSON.stringify(plan(seed));
    assertWithinTime(
      fc.property(seeds, (seed) => {
        const first = text(seed);
        return text(seed) === first;
      }),
    );
    expect(plan(1)).not.toEqual(plan(2));
  });

  test('a plan with a quarter of the workers has the same faults, and sessions of a quarter of the size at most', () => {
    const planFor = (seed: number, workerCount: number) =>
      planRound({ seed, topology: 'one', canStepClocks: true, workerCount });
    let largest = 0;
    for (let seed = 0; seed < 30; seed += 1) {
      const [whole, quarter] = [planFor(seed, 40), planFor(seed, 10)];
      expect(quarter.steps).toEqual(whole.steps);
      expect(whole.sessionSizes).toEqual(plan(seed).sessionSizes);
      largest = Math.max(largest, ...quarter.sessionSizes);
    }
    expect(largest).toBeLessThanOrEqual(250);
    expect(largest).toBeGreaterThan(125);
  });

  test('a plan orders its faults by time and has a quiet end', () => {
    assertWithinTime(
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
    assertWithinTime(
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
    assertWithinTime(
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
});

/** What a source exports. */
function exportsOf(source: string): Record<string, string> {
  const exported: Record<string, string> = {};
  runInNewContext(compile(EMBEDDED, source), { exports: exported });
  return exported;
}

describe('mutants', () => {
  test.each(MUTANT_NAMES)('the sources contain the texts that the mutant %s replaces', (name) => {
    const { patches } = mutantOf(name);
    for (const { find, replace } of patches) expect(replace).not.toBe(find);
    for (const [file, source] of patched(patches)) {
      expect(compile(file, source)).not.toBe(compile(file, readFileSync(join(ROOT, file), 'utf8')));
    }
  });

  test('Redis loads the library and all scripts of each mutant of a script', async () => {
    const redis = await RedisProcess.start();
    try {
      const load = async (exported: Readonly<Record<string, string>>) => {
        const { leaseLibrary = '', ...texts } = exported;
        for (const text of Object.values(texts)) await redis.command('SCRIPT', 'LOAD', text);
        await redis.command('FUNCTION', 'LOAD', 'REPLACE', leaseLibrary);
      };
      for (const name of MUTANT_NAMES) {
        const source = patched(mutantOf(name).patches).get(EMBEDDED);
        if (source !== undefined)
          expect([name, await load(exportsOf(source)).catch(String)]).toEqual([name, undefined]);
      }
    } finally {
      await redis.close();
    }
  });

  test('the error of a patch without its text names the file and the text', () => {
    const patch = { file: 'src/x.ts', find: 'was here once', replace: 'is not' };
    expect(() => applyPatch('const x = 1;', patch)).toThrow(
      'src/x.ts does not contain the text to replace:\nwas',
    );
  });

  test('a patch changes only the lines that it means', () => {
    const patch = { file: 'src/x.ts', find: 'a', replace: 'aa' };
    expect(applyPatch('x a a\ny a', { ...patch, lines: /^x/ })).toBe('x aa aa\ny a');
    expect(() => applyPatch('x b\ny a', { ...patch, lines: /^x/ })).toThrow('does not contain');
  });

  test('a Lua patch replaces constants and record fields by their embedded form, but not inside quotes', () => {
    const patches = luaPatch("redis.call('HGET', STATE_KEY, BATCH, 'BATCH', rare().one(request.state))", '');
    expect(patches.map(({ find }) => find)).toEqual([
      "redis.call('HGET', STATE_KEY, 64, 'BATCH', one(r.s))", // in the library
      "redis.call('HGET', KEYS[1], 64, 'BATCH', rare().one(r.s))",
    ]);
  });
});

describe('store view', () => {
  test('the fault suite sees each held lease in the store, few or many of one name, and which of them are missing', async () => {
    const redis = await RedisProcess.start();
    const server = await InProcessServer.start(redis.url);
    try {
      await server.client().acquire({ name: 'a:state:b', ttlMs: 60_000 });
      const many = { name: 'many', initialLimit: 40, ttlMs: 60_000 };
      const permits = server.semaphores();
      await Promise.all(Array.from({ length: 40 }, () => permits.acquire(many)));
      const view = new StoreView({ masters: () => Promise.resolve([redis]) } as unknown as SuiteStore);
      const before = await view.leases();
      expect(before.size).toBe(41);
      expect(await view.missing(before)).toBe(0);
      await redis.command('FLUSHALL');
      expect(await view.missing(before)).toBe(41);
    } finally {
      await closeAll(
        () => server.closeDespiteWarnings(),
        () => redis.close(),
      );
    }
  });
});
