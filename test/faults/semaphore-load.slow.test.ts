import { setTimeout as sleep } from 'node:timers/promises';
import { ClientProcess } from './client-process';
import { Fleet } from './fleet';
import type { LoadTask } from './load';
import { runScenario, type Scenario } from './scenario';

const PROCESSES = 4;
const CLIENTS = 16;
const LOAD_MS = 8000;
const READING_MS = 4000;
/** The load delays messages, because several busy processes share two cores. */
const CHECKS = { latencyUs: 1_000_000, limitMs: 40_000 };
const TEST_MS = 60_000;
/** The least number of grants for a meaningful test. */
const MIN_GRANTS = 20;

let fleet: Fleet;

beforeAll(async () => {
  fleet = await Fleet.start({ members: [{}, {}] });
});

afterAll(() => fleet?.close());

type Wanted = Pick<LoadTask, 'service' | 'name' | 'mostPermits' | 'sharedPercent'>;

/** Client processes with different seeds. */
class Crowd {
  private started = 0;
  private readonly running: ClientProcess[] = [];

  constructor(
    private readonly scenario: Scenario,
    private readonly wanted: Wanted,
    private readonly until: number,
  ) {}

  async join(): Promise<void> {
    this.started += 1;
    const task: LoadTask = {
      ...this.wanted,
      call: 'load',
      client: `p${this.started}`,
      clientCount: CLIENTS,
      addresses: fleet.members.map((member) => member.address),
      seed: this.started,
      forMs: Math.max(1000, this.until - performance.now()),
    };
    this.running.push(await ClientProcess.start(this.scenario, task));
  }

  /** Kills the oldest process and starts a new process. */
  async replaceOldest(): Promise<void> {
    this.running.shift()?.kill();
    await this.join();
  }

  async finished(): Promise<void> {
    await Promise.all(this.running.map((process) => process.finished(LOAD_MS + 15_000)));
  }
}

function grantsOf(scenario: Scenario): number {
  return scenario.history().filter(({ type }) => type === 'granted').length;
}

async function crowd(scenario: Scenario, wanted: Wanted, forMs: number): Promise<Crowd> {
  const clients = new Crowd(scenario, wanted, performance.now() + forMs);
  await Promise.all(Array.from({ length: PROCESSES }, () => clients.join()));
  return clients;
}

test(
  '64 clients never hold more permits than a changing limit, although their processes are killed',
  () =>
    runScenario({ fleet, title: 'load', ...CHECKS }, async (scenario) => {
      const name = await scenario.semaphore('permits', 10);
      const operator = scenario.operator('operator', fleet.member(1));
      const wanted = { service: 'semaphore', name, mostPermits: 6, sharedPercent: 0 } as const;
      const clients = await crowd(scenario, wanted, LOAD_MS);
      let limit = 10;
      for (const next of [4, 12, 0, 10]) {
        await sleep(LOAD_MS / 6);
        await operator.setLimit(name, next, limit);
        limit = next;
        if (next === 4 || next === 12) await clients.replaceOldest();
      }
      await clients.finished();
      expect(grantsOf(scenario)).toBeGreaterThan(MIN_GRANTS);
    }),
  TEST_MS,
);

test(
  'a lock of 64 clients has several readers or one writer, although their processes are killed',
  () =>
    runScenario({ fleet, title: 'reading', ...CHECKS }, async (scenario) => {
      const name = scenario.lock('document');
      const wanted = { service: 'lock', name, mostPermits: 1, sharedPercent: 75 } as const;
      const clients = await crowd(scenario, wanted, READING_MS);
      await scenario.observer.waitFor(name, 'several readers', ({ holders }) => holders.length > 1);
      for (let kills = 0; kills < 2; kills += 1) {
        await sleep(READING_MS / 3);
        await clients.replaceOldest();
      }
      await clients.finished();
      expect(grantsOf(scenario)).toBeGreaterThan(MIN_GRANTS);
    }),
  TEST_MS,
);
