import { setTimeout as sleep } from 'node:timers/promises';
import { locks, semaphores, type ContenderName } from '../chapter/contenders';
import { countOverIssued } from '../chapter/over-issue';
import {
  alone,
  equalClocks,
  lockScenarios,
  MACHINES,
  semaphoreScenarios,
  type Scenario,
} from '../chapter/scenarios';
import type { ChapterTasks } from '../load/chapter';
import { barChart, type Panel } from '../support/bar-chart';
import { cpuMs } from '../support/cpu';
import { LoadGroup } from '../support/load-process';
import { onStage, type Stage } from '../support/stage';
import { quantile, spreadOf } from '../support/statistics';
import type { Figure, Row, RowContext } from './row';

/** What is wanted, by how many of each machine, and whose these are. */
interface Discipline {
  readonly contenders: readonly ContenderName[];
  readonly ours: ContenderName;
  /** Those that the goal speaks of. */
  readonly chapters: readonly ContenderName[];
  readonly scenarios: readonly Scenario[];
  readonly limit: number;
  readonly names: readonly string[];
  readonly workersOfMachine: number;
  readonly failure: string;
}

const disciplines: readonly Discipline[] = [
  {
    contenders: Object.keys(semaphores) as ContenderName[],
    ours: 'Holdfast semaphore',
    chapters: ['basic, time stamps', 'fair, counter', 'correct, fair with a lock'],
    scenarios: semaphoreScenarios,
    limit: 3,
    names: ['pool'],
    workersOfMachine: 3,
    failure: 'permits over the limit, of 1,000 grants',
  },
  {
    contenders: Object.keys(locks) as ContenderName[],
    ours: 'Holdfast lock',
    chapters: ['SETNX', 'SETNX + EXPIRE', 'DEL + SETNX take-over', 'GETSET take-over', 'SET NX PX'],
    scenarios: lockScenarios,
    limit: 1,
    names: ['first', 'second', 'third'],
    workersOfMachine: 1,
    failure: 'locks held twice, of 1,000 grants',
  },
];

interface Outcome {
  readonly grants: number;
  readonly overIssued: number;
  readonly waits: readonly number[];
  readonly redisMicros: number;
}

interface Ground {
  readonly stage: Stage;
  readonly group: LoadGroup<ChapterTasks>;
  /** Of the time that a scenario takes. */
  readonly share: number;
}

async function play(ground: Ground, discipline: Discipline, contender: ContenderName, scenario: Scenario) {
  const { redis, server } = ground.stage;
  const { limit, workersOfMachine } = discipline;
  const forMs = scenario.forMs * ground.share;
  const names = scenario === alone ? discipline.names.slice(0, 1) : discipline.names;
  await ground.group.askEach('prepare', (machine) => ({
    contender,
    limit,
    names: names.map((name) => [name, contender, scenario.name].join(' / ')),
    workers: scenario === alone ? Number(machine === 0) : workersOfMachine,
    habits: scenario.habitsOf(machine),
    redisPort: redis.port,
    address: server.address,
  }));
  const before = cpuMs(redis.pid);
  const stops = contender === discipline.ours ? stopServer(server.pid, scenario, forMs) : undefined;
  await ground.group.ask('play', { forMs });
  await stops;
  const cpu = cpuMs(redis.pid) - before;
  const accounts = await ground.group.ask('account', undefined);
  const grants = accounts.flatMap((account) => account.grants);
  return {
    grants: grants.length,
    overIssued: countOverIssued(grants, limit),
    waits: accounts.flatMap(({ waits }) => waits),
    redisMicros: (cpu * 1000) / grants.length,
  };
}

/** Twice, for longer than the TTL, in the middle of things. */
async function stopServer(pid: number, { stopServerMs }: Scenario, forMs: number): Promise<void> {
  if (stopServerMs === undefined) return;
  for (let count = 0; count < 2; count += 1) {
    await sleep(forMs / 4);
    process.kill(pid, 'SIGSTOP');
    await sleep(Math.min(stopServerMs, forMs / 4));
    process.kill(pid, 'SIGCONT');
  }
}

type Outcomes = ReadonlyMap<Scenario, Outcome>;

function failuresOf({ failure }: Discipline, line: ContenderName, outcomes: Outcomes): Figure[] {
  return [...outcomes].flatMap(([scenario, { grants, overIssued }]) =>
    scenario === alone
      ? []
      : {
          what: `${line}, ${scenario.name}: ${failure}`,
          unit: '',
          value: spreadOf([(overIssued * 1000) / grants]),
          detail: `(${overIssued} of ${grants.toLocaleString('en')})`,
          cell: { table: failure, line, column: scenario.name },
        },
  );
}

const COST = 'time and Redis CPU';

function costsOf(line: ContenderName, outcomes: Outcomes): Figure[] {
  return [...outcomes]
    .filter(([scenario]) => scenario === alone || scenario === equalClocks)
    .flatMap(([scenario, { waits, redisMicros }]) => {
      const when = scenario === alone ? 'alone' : '12 contend';
      const figure = (what: string, unit: string, value: number): Figure => ({
        what: `${line}, ${when}: ${what}`,
        unit,
        value: spreadOf([value]),
        cell: { table: COST, line, column: `${when}: ${what}` },
      });
      return [
        figure('time to grant, p50', 'ms', quantile(waits, 0.5)),
        figure('p99', 'ms', quantile(waits, 0.99)),
        figure('Redis CPU a grant', 'µs', redisMicros),
      ];
    });
}

/** Over all scenarios. */
function total(what: string, outcomes: readonly Outcomes[], goal?: Figure['goal']): Figure {
  const count = outcomes.flatMap((one) => [...one.values()]).reduce((sum, one) => sum + one.overIssued, 0);
  return { what, unit: '', value: spreadOf([count]), ...(goal && { goal }) };
}

async function playAll(ground: Ground, discipline: Discipline, say: RowContext['say']): Promise<Figure[]> {
  const { contenders, scenarios, ours, chapters, failure } = discipline;
  const all = new Map<ContenderName, Outcomes>();
  for (const contender of contenders) {
    const outcomes = new Map<Scenario, Outcome>();
    for (const scenario of [alone, ...scenarios]) {
      outcomes.set(scenario, await play(ground, discipline, contender, scenario));
    }
    all.set(contender, outcomes);
    say(`${contender}: ${[...outcomes.values()].map(({ grants }) => grants).join(', ')} grants`);
  }
  const outcomesOf = (names: readonly ContenderName[]) => names.flatMap((name) => all.get(name) ?? []);
  const counted = failure.replace(/,.*/, ', all scenarios together');
  return [
    total(`${ours}: ${counted}`, outcomesOf([ours]), { most: 0 }),
    ...chapters.map((name) => total(`${name}: ${counted}`, outcomesOf([name]))),
    ...[...all].flatMap(([name, outcomes]) => failuresOf(discipline, name, outcomes)),
    ...[...all].flatMap(([name, outcomes]) => costsOf(name, outcomes)),
  ];
}

async function run({ quick, say }: RowContext): Promise<Figure[]> {
  return onStage(async (stage) => {
    const group = new LoadGroup<ChapterTasks>('chapter', MACHINES);
    try {
      const figures: Figure[] = [];
      for (const discipline of disciplines) {
        figures.push(...(await playAll({ stage, group, share: quick ? 0.2 : 1 }, discipline, say)));
      }
      return figures;
    } finally {
      group.end();
    }
  });
}

function picture(figures: readonly Figure[]): string {
  const panels = disciplines.map(({ failure, scenarios, contenders }): Panel => {
    const valueAt = (line: string, column: string): number =>
      figures.find(({ cell }) => cell?.table === failure && cell.line === line && cell.column === column)
        ?.value.median ?? NaN;
    const series = scenarios.map(({ name }) => name);
    return {
      axis: failure,
      series,
      groups: contenders.map((label) => ({ label, values: series.map((column) => valueAt(label, column)) })),
    };
  });
  return barChart({
    title: 'The chapter’s semaphores and locks, two npm packages, and Holdfast',
    subtitle:
      'Grants made while as many were believed held as may be, counted from outside, under five conditions. 0 is right.',
    panels,
  });
}

export const chapter: Row = {
  name: 'chapter',
  title: 'The chapter’s semaphores and locks beside ours',
  about: '',
  picture,
  run,
};
