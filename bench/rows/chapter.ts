import { runContender, type Outcome } from '../chapter/contender-run';
import type { ContenderName } from '../chapter/contenders';
import { disciplines, type Discipline } from '../chapter/disciplines';
import { allScenarios, alone, equalClocks, MACHINES, type Scenario } from '../chapter/scenarios';
import type { ChapterTasks } from '../load/chapter';
import { barChart, panelOf } from '../support/bar-chart';
import {
  figure,
  tableLine,
  takeRounds,
  type Figure,
  type FigureSummary,
  type Goal,
} from '../support/figures';
import { LoadGroup } from '../support/load-process';
import { onStage, warmUp } from '../support/stage';
import { sum, timesOf } from '../support/statistics';
import type { Row, RowContext } from './row';

/** The scenarios that measure cost. All contenders take turns, so that a busy moment of the machine affects each of them. */
const COST_SCENARIOS: readonly Scenario[] = [alone, equalClocks];

/** A contender and its outcomes. */
interface Entry {
  readonly discipline: Discipline;
  readonly contender: ContenderName;
  readonly outcomes: (Outcome & { readonly scenario: Scenario })[];
}

type RunOne = (entry: Entry, scenario: Scenario, forMs: number) => Promise<Outcome>;

/** The cost without and with contention. */
async function costs(entries: readonly Entry[], runOne: RunOne, { quick, say }: RowContext) {
  const counts = { warmUps: 0, rounds: quick ? 1 : 3 };
  return takeRounds(counts, async (index) => {
    const figures: Figure[] = [];
    for (const entry of entries) {
      for (const scenario of COST_SCENARIOS) {
        const outcome = await runOne(entry, scenario, scenario.forMs / counts.rounds);
        figures.push(...costLine(entry, scenario === alone ? 'alone' : 'contended', outcome));
      }
    }
    say(`round ${index + 1} of the costs`);
    return figures;
  });
}

function costLine({ discipline, contender }: Entry, name: string, { waits, cost }: Outcome): Figure[] {
  const { p50, p99 } = timesOf(waits);
  return tableLine('time to grant, and CPU a grant and release', contender, {
    [`${name}: p50`]: [p50, 'ms'],
    [`${name}: p99`]: [p99, 'ms'],
    [`${name}: Redis`]: [cost.redis, 'µs'],
    [`${name}: server`]: contender === discipline.ours ? [cost.server, 'µs'] : undefined,
  });
}

async function failures(entries: readonly Entry[], runOne: RunOne, { say }: RowContext): Promise<void> {
  for (const entry of entries) {
    for (const scenario of entry.discipline.scenarios) {
      if (!COST_SCENARIOS.includes(scenario)) await runOne(entry, scenario, scenario.forMs);
    }
    const { overIssued, grants } = countsOf(entry);
    say(`${entry.contender}: ${overIssued} of ${grants} grants were too many`);
  }
}

/** The counts of one scenario, or of all scenarios. */
function countsOf({ outcomes }: Entry, scenario?: Scenario): { grants: number; overIssued: number } {
  const counted = outcomes.filter((one) => scenario === undefined || one.scenario === scenario);
  return {
    grants: sum(counted.map(({ grants }) => grants)),
    overIssued: sum(counted.map(({ overIssued }) => overIssued)),
  };
}

/** The sums over all scenarios: the figures with goals, and the failures of each algorithm of the chapter. */
function totals(entries: readonly Entry[]): Figure[] {
  return disciplines.flatMap(({ ours, chapters, failure }) => {
    const total = (who: string, contenders: readonly ContenderName[], goal?: Goal): Figure => {
      const counted = entries.filter(({ contender }) => contenders.includes(contender));
      return figure(`${who}: ${failure}`, '', sum(counted.map((entry) => countsOf(entry).overIssued)), goal);
    };
    return [
      total(ours, [ours], { most: 0 }),
      total('the chapter’s together', chapters, { least: 1 }),
      ...chapters.map((contender) => total(contender, [contender])),
    ];
  });
}

function failureLine(entry: Entry): Figure[] {
  const { discipline, contender } = entry;
  const columns = discipline.scenarios.map((scenario) => {
    const { grants, overIssued } = countsOf(entry, scenario);
    const counts = `(${overIssued} of ${grants.toLocaleString('en')})`;
    return [scenario.name, [(overIssued * 1000) / grants, '', counts]] as const;
  });
  return tableLine(tableOf(discipline), contender, Object.fromEntries(columns));
}

function tableOf({ failure }: Discipline): string {
  return `${failure}, of 1,000 grants`;
}

async function run(context: RowContext): Promise<Figure[]> {
  const entries = disciplines.flatMap((discipline) =>
    discipline.contenders.map((contender): Entry => ({ discipline, contender, outcomes: [] })),
  );
  const costFigures = await onStage(async (stage) => {
    await warmUp(stage);
    const group = new LoadGroup<ChapterTasks>('chapter', MACHINES);
    const runOne: RunOne = async ({ discipline, contender, outcomes }, scenario, fullMs) => {
      const forMs = fullMs * (context.quick ? 0.15 : 1);
      const outcome = await runContender(stage, group, { discipline, contender, scenario, forMs });
      outcomes.push({ ...outcome, scenario });
      return outcome;
    };
    try {
      const figures = await costs(entries, runOne, context);
      await failures(entries, runOne, context);
      return figures;
    } finally {
      group.end();
    }
  });
  return [...totals(entries), ...entries.flatMap(failureLine), ...costFigures];
}

function picture(figures: readonly FigureSummary[]): string {
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
