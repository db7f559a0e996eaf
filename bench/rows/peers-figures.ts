import { PAUSED_LOCKS, type LateWrites } from '../locks/pauses';
import { PARTS, type PartCost, type Queue } from '../locks/running-system';
import { systems, type LockSystem } from '../locks/systems';
import { barChart, panelOf } from '../support/bar-chart';
import { figure, tableLine, type Figure, type FigureSummary, type Goal } from '../support/figures';
import { sum, type Times } from '../support/statistics';

/** The numbers of waiters. */
export const QUEUES = [1, 10, 100] as const;

/** A system in one round. */
export interface Taken {
  readonly system: LockSystem;
  readonly alone: { readonly cost: PartCost } & Times;
  /** In the order of `QUEUES`. */
  readonly queues: readonly Queue[];
}

const CPU = 'CPU of a grant and its release, all processes';
const PART_TABLES: Readonly<Record<keyof PartCost, string>> = {
  clients: 'CPU of that in the clients',
  server: 'CPU of that in the server (Holdfast, etcd, ZooKeeper)',
  redis: 'CPU of that in Redis',
};
const ALONE = 'time of an uncontended acquire';
const HAND_OVER = 'time from a release to the next grant';
const WAIT = 'time from the begin of a wait to its grant';
const ORDER = 'grants in the order of waiting';
const LATE = `share of ${PAUSED_LOCKS} locks that a paused holder wrote to after the next holder`;

/** A number of a system. */
interface Measure {
  readonly table: string;
  readonly column: string;
  readonly unit: string;
  readonly of: (taken: Taken) => number;
}

/** A number for each number of waiters. */
function queueMeasures(table: string, unit: string, of: (queue: Queue) => number, name = ''): Measure[] {
  return QUEUES.map((waiters, index) => ({
    table,
    column: `${waiters} waiting${name}`,
    unit,
    of: ({ queues }) => of(queues[index] as Queue),
  }));
}

/** The CPU without contention and with each number of waiters. */
function cpuMeasures(table: string, of: (cost: PartCost) => number): [alone: Measure, ...queues: Measure[]] {
  return [
    { table, column: 'alone', unit: 'µs', of: ({ alone }) => of(alone.cost) },
    ...queueMeasures(table, 'µs', ({ cost }) => of(cost)),
  ];
}

const [aloneCpu, ...queueCpu] = cpuMeasures(CPU, (cost) => sum(Object.values(cost)));
const aloneMeasures: readonly Measure[] = [
  aloneCpu,
  { table: ALONE, column: 'p50', unit: 'ms', of: ({ alone }) => alone.p50 },
  { table: ALONE, column: 'p99', unit: 'ms', of: ({ alone }) => alone.p99 },
];
const queuedMeasures: readonly Measure[] = [
  ...queueCpu,
  ...queueMeasures(HAND_OVER, 'ms', ({ handOver }) => handOver.p50, ', p50'),
  ...queueMeasures(HAND_OVER, 'ms', ({ handOver }) => handOver.p99, ', p99'),
  ...queueMeasures(WAIT, 'ms', ({ wait }) => wait.p50, ', p50'),
  ...queueMeasures(WAIT, 'ms', ({ wait }) => wait.p99, ', p99'),
];
/** Measures without a comparison. */
const otherMeasures: readonly Measure[] = [
  ...PARTS.flatMap((part) => cpuMeasures(PART_TABLES[part], (cost) => cost[part])),
  ...queueMeasures(ORDER, '%', ({ inOrder }) => inOrder * 100),
];

/** Ours by the best of the others in the same round. */
function byBest(
  { table, column, of }: Measure,
  ours: Taken,
  others: readonly Taken[],
  whom: string,
  goal?: Goal,
): Figure[] {
  if (others.length === 0) return [];
  const ratio = of(ours) / Math.min(...others.map(of));
  return [figure(`${table}, ${column}, by the best ${whom}`, '×', ratio, goal)];
}

/** The figures of all systems in one round. */
export function roundFigures(taken: readonly Taken[]): Figure[] {
  const ours = taken.find(({ system }) => system === systems.holdfast);
  if (ours === undefined) throw new Error('Holdfast was not measured');
  const others = taken.filter(({ system }) => system.store !== ours.system.store);
  const polling = others.filter(({ system }) => system.isSetNxPx);
  const rest = others.filter(({ system }) => !system.isSetNxPx);
  return [
    ...aloneMeasures.flatMap((measure) => [
      ...byBest(measure, ours, rest, 'of the others without SET NX PX', { most: 1 }),
      ...byBest(measure, ours, polling, 'of SET NX PX'),
    ]),
    ...queuedMeasures.flatMap((measure) => byBest(measure, ours, others, 'of the others', { most: 1 })),
    ...taken.flatMap((one) =>
      [...aloneMeasures, ...queuedMeasures, ...otherMeasures].flatMap(({ table, column, unit, of }) =>
        tableLine(table, one.system.title, { [column]: [of(one), unit] }),
      ),
    ),
  ];
}

/** The figures of a paused holder. */
export function lateFigures(system: LockSystem, late: LateWrites): Figure[] {
  const share = (locks: number) => [(locks / PAUSED_LOCKS) * 100, '%'] as const;
  const checked = 'late writes of paused holders that check their deadline, or meet a check of tokens';
  return [
    ...(system === systems.holdfast
      ? [figure(checked, '', late.holderChecks + late.tokenChecked, { most: 0 })]
      : []),
    ...tableLine(LATE, system.title, {
      'no check': share(late.unchecked),
      'the holder asks its library': share(late.holderChecks),
      'tokens are checked': share(late.tokenChecked),
    }),
  ];
}

export function picture(figures: readonly FigureSummary[]): string {
  const waiting = QUEUES.map((waiters) => `${waiters} waiting`);
  const times = (name: string) => {
    const columns = ['', ...waiting.map((column) => `${column}, ${name}`)];
    return panelOf(figures, HAND_OVER, columns, `release to grant, ${name} (ms)`);
  };
  return barChart({
    title: 'Locks of other systems and Holdfast’s',
    subtitle:
      'CPU of a grant with its release over all processes, and the time from a release to the next grant.',
    series: ['alone', ...waiting],
    panels: [panelOf(figures, CPU, ['alone', ...waiting], 'CPU (µs)'), times('p50'), times('p99')],
  });
}
