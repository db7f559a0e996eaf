import { setTimeout as sleep } from 'node:timers/promises';
import { locks, semaphores, type ContenderName } from '../chapter/contenders';
import { countOverIssued } from '../chapter/over-issue';
import {
  allScenarios,
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
import { warmUpServer } from '../support/warm-up';
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
  /** CPU per grant. */
  readonly redisMicros: number;
  readonly serverMicros: number;
}

interface Ground {
  readonly stage: Stage;
  readonly group: LoadGroup<ChapterTasks>;
  /** Of the time that a scenario takes. */
  readonly share: number;
}

async function play(
  ground: Ground,
  discipline: Discipline,
  contender: ContenderName,
  scenario: Scenario,
): Promise<Outcome> {
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
  const cpu = () => [redis.pid, server.pid].map(cpuMs);
  const before = cpu();
  const stops = contender === discipline.ours ? stopServer(server.pid, scenario, forMs) : undefined;
  await ground.group.ask('play', { forMs });
  await stops;
  const [redisMs = NaN, serverMs = NaN] = cpu().map((after, index) => after - (before[index] ?? NaN));
  const accounts = await ground.group.ask('account', undefined);
  const grants = accounts.flatMap((account) => account.grants);
  return {
    grants: grants.length,
    overIssued: countOverIssued(grants, limit),
    waits: accounts.flatMap(({ waits }) => waits),
    redisMicros: (redisMs * 1000) / grants.length,
    serverMicros: (serverMs * 1000) / grants.length,
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

const COST = 'time to grant, and CPU a grant and release';

/** What the waits and the CPU were: with nobody else there, and with several who want each. */
function costsOf({ ours }: Discipline, line: ContenderName, outcomes: Outcomes): Figure[] {
  return [alone, equalClocks].flatMap((scenario) => {
    const outcome = outcomes.get(scenario);
    if (outcome === undefined) return [];
    const figure = (what: string, unit: string, value: number): Figure => {
      const column = `${scenario === alone ? 'alone' : 'contended'}: ${what}`;
      return {
        what: `${line}, ${column}`,
        unit,
        value: spreadOf([value]),
        cell: { table: COST, line, column },
      };
    };
    const { waits, redisMicros, serverMicros } = outcome;
    return [
      figure('p50', 'ms', quantile(waits, 0.5)),
      figure('p99', 'ms', quantile(waits, 0.99)),
      figure('Redis', 'µs', redisMicros),
      ...(line === ours ? [figure('server', 'µs', serverMicros)] : []),
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
    ...[...all].flatMap(([name, outcomes]) => costsOf(discipline, name, outcomes)),
  ];
}

async function run({ quick, say }: RowContext): Promise<Figure[]> {
  return onStage(async (stage) => {
    await warmUpServer(stage.server.address);
    const group = new LoadGroup<ChapterTasks>('chapter', MACHINES);
    try {
      const figures: Figure[] = [];
      for (const discipline of disciplines) {
        figures.push(...(await playAll({ stage, group, share: quick ? 0.15 : 1 }, discipline, say)));
      }
      return figures;
    } finally {
      group.end();
    }
  });
}

function picture(figures: readonly Figure[]): string {
  const series = allScenarios.map(({ name }) => name);
  const panels = disciplines.map(({ failure, contenders }): Panel => {
    const valueAt = (line: string, column: string) =>
      figures.find(({ cell }) => cell?.table === failure && cell.line === line && cell.column === column)
        ?.value.median;
    return {
      axis: failure,
      groups: contenders.map((label) => ({ label, values: series.map((column) => valueAt(label, column)) })),
    };
  });
  return barChart({
    title: 'The chapter’s semaphores and locks, two npm packages, and Holdfast',
    subtitle:
      'Grants received while as many were believed as the limit allows, counted from outside. Right is 0.',
    series,
    panels,
  });
}

export const chapter: Row = {
  name: 'chapter',
  title: 'The chapter’s semaphores and locks beside ours',
  about:
    'Twelve workers in four processes, each process a machine with a clock of its own, want 3 permits of one ' +
    'semaphore, or each a third of them one of three locks; they hold for 5 to 15 ms as a rule. Each writes down on the ' +
    'common monotonic clock when it received a grant and until when it believed in it, and a grant that is received ' +
    'while as many are believed as the limit allows counts. `clocks 10 ms apart`: two of the four are ahead. `clocks ' +
    '2 s apart`: they are ahead by 0, 10 ms, 500 ms and 2 s, the TTL is 2.5 s, some hold for 0.6 to 0.9 s. `pauses`: each ' +
    'worker stops between two steps about every 200 ms, a quarter of the times for longer than the TTL of 300 ms; ' +
    'for ours the server is stopped for as long too, twice. `deaths`: one holder in ten never releases. `mixed TTLs`: ' +
    'two machines use 300 ms, two 3 s and hold for half a second at times. Of cost: `alone` one worker acquires and ' +
    'releases, `contended` is `equal clocks`. Who the contenders are, and how they differ from the published ' +
    'code, is in [../chapter/README.md](../chapter/README.md). Each number is of one run.',
  picture,
  run,
};
