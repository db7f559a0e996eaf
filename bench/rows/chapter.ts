import type { ContenderName } from '../chapter/contenders';
import { disciplines, type Discipline } from '../chapter/disciplines';
import { runContender, type Outcome } from '../chapter/contender-run';
import { allScenarios, alone, equalClocks, MACHINES, type Scenario } from '../chapter/scenarios';
import type { ChapterTasks } from '../load/chapter';
import { barChart } from '../support/bar-chart';
import { LoadGroup } from '../support/load-process';
import { onStage } from '../support/stage';
import { quantile } from '../support/statistics';
import { warmUpServer } from '../support/warm-up';
import { Cells, panelOf } from './cells';
import { figure } from './figure';
import type { Figure, Row, RowContext } from './row';

/** The scenarios that measure cost. All contenders take turns, so that a busy moment of the machine affects each of them. */
const COST_SCENARIOS: readonly Scenario[] = [alone, equalClocks];
const COST = 'time to grant, and CPU a grant and release';

/** A contender and its outcomes, by scenario and round. */
interface Entry {
  readonly discipline: Discipline;
  readonly contender: ContenderName;
  readonly outcomes: Map<Scenario, Outcome[]>;
}

type RunOne = (entry: Entry, scenario: Scenario, forMs: number) => Promise<void>;

async function runAll(entries: readonly Entry[], runOne: RunOne, { quick, say }: RowContext): Promise<void> {
  const share = quick ? 0.15 : 1;
  const rounds = quick ? 1 : 3;
  for (let round = 1; round <= rounds; round += 1) {
    for (const entry of entries) {
      for (const scenario of COST_SCENARIOS) await runOne(entry, scenario, (scenario.forMs * share) / rounds);
    }
    say(`round ${round} of what they cost`);
  }
  for (const entry of entries) {
    for (const scenario of entry.discipline.scenarios) {
      if (!COST_SCENARIOS.includes(scenario)) await runOne(entry, scenario, scenario.forMs * share);
    }
    say(
      `${entry.contender}: ${sumOf(entry, 'overIssued')} of ${sumOf(entry, 'grants')} grants were too many`,
    );
  }
}

/** The sum over one scenario, or over all scenarios. */
function sumOf({ outcomes }: Entry, part: 'grants' | 'overIssued', scenario?: Scenario): number {
  const counted = scenario === undefined ? [...outcomes.values()].flat() : (outcomes.get(scenario) ?? []);
  return counted.reduce((sum, outcome) => sum + outcome[part], 0);
}

/** The sums over all scenarios: the figures with goals, and the failures of each algorithm of the chapter. */
function totals(entries: readonly Entry[]): Figure[] {
  return disciplines.flatMap(({ ours, chapters, failure }) => {
    const total = (who: string, contenders: readonly ContenderName[], goal?: Figure['goal']): Figure => {
      const counted = entries.filter(({ contender }) => contenders.includes(contender));
      const count = counted.reduce((sum, entry) => sum + sumOf(entry, 'overIssued'), 0);
      return figure(`${who}: ${failure}`, '', [count], goal);
    };
    return [
      total(ours, [ours], { most: 0 }),
      total('the chapter’s together', chapters, { least: 1 }),
      ...chapters.map((contender) => total(contender, [contender])),
    ];
  });
}

function failuresOf(entry: Entry): Figure[] {
  const { discipline, contender } = entry;
  const cells = new Cells(tableOf(discipline), contender);
  for (const scenario of discipline.scenarios) {
    const grants = sumOf(entry, 'grants', scenario);
    const overIssued = sumOf(entry, 'overIssued', scenario);
    cells.add(
      scenario.name,
      (overIssued * 1000) / grants,
      '',
      `(${overIssued} of ${grants.toLocaleString('en')})`,
    );
  }
  return cells.figures;
}

function tableOf({ failure }: Discipline): string {
  return `${failure}, of 1,000 grants`;
}

/** The cost without and with contention. */
function costsOf({ discipline, contender, outcomes }: Entry): Figure[] {
  const cells = new Cells(COST, contender);
  for (const scenario of COST_SCENARIOS) {
    const rounds = outcomes.get(scenario) ?? [];
    const name = scenario === alone ? 'alone' : 'contended';
    const add = (what: string, unit: string, of: (outcome: Outcome) => number) =>
      cells.add(`${name}: ${what}`, rounds.map(of), unit);
    add('p50', 'ms', ({ waits }) => quantile(waits, 0.5));
    add('p99', 'ms', ({ waits }) => quantile(waits, 0.99));
    add('Redis', 'µs', ({ redisMicros }) => redisMicros);
    if (contender === discipline.ours) add('server', 'µs', ({ serverMicros }) => serverMicros);
  }
  return cells.figures;
}

async function run(context: RowContext): Promise<Figure[]> {
  const entries = disciplines.flatMap((discipline) =>
    discipline.contenders.map((contender): Entry => ({ discipline, contender, outcomes: new Map() })),
  );
  await onStage(async (stage) => {
    await warmUpServer(stage.server.listen);
    const group = new LoadGroup<ChapterTasks>('chapter', MACHINES);
    const runOne: RunOne = async ({ discipline, contender, outcomes }, scenario, forMs) => {
      const outcome = await runContender(stage, group, { discipline, contender, scenario, forMs });
      outcomes.set(scenario, [...(outcomes.get(scenario) ?? []), outcome]);
    };
    try {
      await runAll(entries, runOne, context);
    } finally {
      group.end();
    }
  });
  return [...totals(entries), ...entries.flatMap(failuresOf), ...entries.flatMap(costsOf)];
}

function picture(figures: readonly Figure[]): string {
  const series = allScenarios.map(({ name }) => name);
  const panels = disciplines.map((discipline) =>
    panelOf(figures, tableOf(discipline), series, tableOf(discipline)),
  );
  return barChart({
    title: 'The chapter’s semaphores and locks, two npm packages, and Holdfast',
    subtitle: 'Grants received while the limit was already believed to be held. The right number is 0.',
    series,
    panels,
  });
}

export const chapter: Row = {
  name: 'chapter',
  title: 'The chapter’s semaphores and locks compared with Holdfast’s',
  about:
    'Twelve workers in four processes compete for 3 permits of one semaphore, or for three locks with four workers each. ' +
    'Each process stands for a machine with its own clock. A hold takes 5 to 15 ms unless noted. Each worker records on the ' +
    'common monotonic clock when it received a grant and until when it believed in the grant. A grant counts as too many ' +
    'if it is received while the limit is already believed to be held. `clocks 10 ms apart`: two of the four clocks are ' +
    'ahead. `clocks 2 s apart`: the clocks are ahead by 0, 10 ms, 500 ms and 2 s, the TTL is 2.5 s, and some holds take 0.6 ' +
    'to 0.9 s. `pauses`: each worker pauses between two steps about every 200 ms, every fourth time for longer than the TTL ' +
    'of 300 ms; the Holdfast server is paused twice for as long. `deaths`: one holder in ten never releases. `mixed TTLs`: ' +
    'two machines use a TTL of 300 ms, two use 3 s and sometimes hold for half a second. Cost: `alone` is one worker without ' +
    'contention, `contended` is `equal clocks`. The page [../chapter/README.md](../chapter/README.md) describes the ' +
    'contenders and their differences from the published code. A cost is the median of three rounds in which all contenders ' +
    'take turns, for one grant with its release. A count is from one run.',
  picture,
  run,
};
