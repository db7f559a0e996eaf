import { setTimeout as sleep } from 'node:timers/promises';
import type { ChapterTasks, WorkerRecords } from '../load/chapter';
import type { LoadGroup } from '../support/load-process';
import { costOf, type Cost, type Stage } from '../support/stage';
import { sum } from '../support/statistics';
import type { ContenderName } from './contenders';
import type { Discipline } from './disciplines';
import { countOverIssued } from './over-issue';
import { alone, type Scenario } from './scenarios';

/** One run of a contender in a scenario. */
export interface ContenderRun {
  readonly discipline: Discipline;
  readonly contender: ContenderName;
  readonly scenario: Scenario;
  readonly forMs: number;
}

export interface Outcome {
  readonly grants: number;
  readonly overIssued: number;
  readonly waits: readonly number[];
  /** The cost of a grant. */
  readonly cost: Cost;
}

let runs = 0;

export async function runContender(
  { redis, server }: Stage,
  group: LoadGroup<ChapterTasks>,
  { discipline, contender, scenario, forMs }: ContenderRun,
): Promise<Outcome> {
  const { limit, workersOfMachine, ours } = discipline;
  const label = `run-${++runs}`;
  const names = scenario === alone ? discipline.names.slice(0, 1) : discipline.names;
  await group.askEach('prepare', (machine) => ({
    contender,
    limit,
    names: names.map((name) => `${label}-${name}`),
    workers: scenario === alone ? Number(machine === 0) : workersOfMachine,
    settings: scenario.workerSettingsOf(machine),
    redisPort: redis.port,
    address: server.listen,
  }));
  let records: WorkerRecords[] = [];
  const cost = await costOf({ redis, server }, async () => {
    const stops = contender === ours ? stopServer(server.pid, scenario, forMs) : undefined;
    records = await group.ask('run', { forMs });
    await stops;
    return sum(records.map(({ grants }) => grants.length));
  });
  const grants = records.flatMap((one) => one.grants);
  const waits = records.flatMap((one) => one.waits);
  return { grants: grants.length, overIssued: countOverIssued(grants, limit), waits, cost };
}

/** Stops the server twice during a run, if the scenario has server pauses. */
async function stopServer(pid: number, { stopServerMs }: Scenario, forMs: number): Promise<void> {
  if (stopServerMs === undefined) return;
  for (let count = 0; count < 2; count += 1) {
    await sleep(forMs / 4);
    process.kill(pid, 'SIGSTOP');
    await sleep(Math.min(stopServerMs, forMs / 4));
    process.kill(pid, 'SIGCONT');
  }
}
