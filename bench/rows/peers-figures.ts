import { PAUSED_LOCKS, type LateWrites } from '../locks/pauses';
import type { Cost, Queue, Times } from '../locks/running-system';
import { ABILITIES, systems, type LockSystem } from '../locks/systems';
import { barChart } from '../support/bar-chart';
import { ratios } from '../support/statistics';
import { Cells, panelOf } from './cells';
import { figure } from './figure';
import type { Figure, Goal } from './row';

/** The numbers of waiters. */
export const QUEUES = [1, 10, 100] as const;

/** A system in one round. */
export interface SystemRound {
  readonly alone: { readonly cost: Cost } & Times;
  readonly queues: Readonly<Record<number, Queue>>;
}

export interface Measured {
  readonly system: LockSystem;
  readonly version: string;
  readonly rounds: readonly SystemRound[];
  readonly late: LateWrites;
}

/** A number of each round. */
interface Measure {
  readonly table: string;
  readonly column: string;
  readonly unit: string;
  readonly of: (round: SystemRound) => number;
}

const CPU = 'CPU of a grant and its release, all processes';
const PART_TABLES = {
  clients: 'CPU of that in the clients',
  server: 'CPU of that in the server (Holdfast, etcd, ZooKeeper)',
  redis: 'CPU of that in Redis',
} as const satisfies Readonly<Record<keyof Cost, string>>;
const ALONE = 'time of an uncontended acquire';
const HAND_OVER = 'time from a release to the next grant';
const WAIT = 'time from the begin of a wait to its grant';
const ORDER = 'grants in the order of waiting';
const LATE = `share of ${PAUSED_LOCKS} locks that a paused holder wrote to after the next holder`;

const total = ({ clients, server, redis }: Cost) => clients + server + redis;

function queueOf({ queues }: SystemRound, waiters: number): Queue {
  const queue = queues[waiters];
  if (queue === undefined) throw new Error(`a round without ${waiters} waiters`);
  return queue;
}

/** The CPU without contention and with each number of waiters. */
function cpuMeasures(table: string, of: (cost: Cost) => number): [alone: Measure, ...queues: Measure[]] {
  return [
    { table, column: 'alone', unit: 'µs', of: ({ alone }) => of(alone.cost) },
    ...queueMeasures(table, 'µs', ({ cost }) => of(cost)),
  ];
}

function queueMeasures(table: string, unit: string, of: (queue: Queue) => number, name = ''): Measure[] {
  return QUEUES.map((waiters) => ({
    table,
    column: `${waiters} waiting${name}`,
    unit,
    of: (round) => of(queueOf(round, waiters)),
  }));
}

const [aloneCpu, ...queueCpu] = cpuMeasures(CPU, total);
const aloneTimes: readonly Measure[] = [
  { table: ALONE, column: 'p50', unit: 'ms', of: ({ alone }) => alone.p50 },
  { table: ALONE, column: 'p99', unit: 'ms', of: ({ alone }) => alone.p99 },
];
const queueTimes = [
  ...queueMeasures(HAND_OVER, 'ms', ({ handOver }) => handOver.p50, ', p50'),
  ...queueMeasures(HAND_OVER, 'ms', ({ handOver }) => handOver.p99, ', p99'),
  ...queueMeasures(WAIT, 'ms', ({ wait }) => wait.p50, ', p50'),
  ...queueMeasures(WAIT, 'ms', ({ wait }) => wait.p99, ', p99'),
];

const measures: readonly Measure[] = [
  aloneCpu,
  ...queueCpu,
  ...cpuMeasures(PART_TABLES.clients, ({ clients }) => clients),
  ...cpuMeasures(PART_TABLES.server, ({ server }) => server),
  ...cpuMeasures(PART_TABLES.redis, ({ redis }) => redis),
  ...aloneTimes,
  ...queueTimes,
  ...queueMeasures(ORDER, '%', ({ inOrder }) => inOrder * 100),
];

function cellsOf({ system, rounds }: Measured): Figure[] {
  return measures.flatMap(
    ({ table, column, unit, of }) => new Cells(table, system.title).add(column, rounds.map(of), unit).figures,
  );
}

function lateCells({ system, late }: Measured): Figure[] {
  const share = (locks: number) => (locks / PAUSED_LOCKS) * 100;
  return new Cells(LATE, system.title)
    .add('no check', share(late.unchecked), '%')
    .add('the holder asks its library', share(late.holderChecks), '%')
    .add('tokens are checked', share(late.tokenChecked), '%').figures;
}

function abilityCells({ system, version }: Measured): Figure[] {
  const cells = new Cells('what each system offers', system.title).say('version', version);
  for (const ability of ABILITIES) cells.say(ability, system.abilities[ability]);
  return cells.figures;
}

/** Ours by the best of the others in the same round. */
function byBest(
  { table, column, of }: Measure,
  ours: Measured,
  others: readonly Measured[],
  whom: string,
  goal?: Goal,
): Figure[] {
  if (others.length === 0) return [];
  const best = ours.rounds.map((_, round) =>
    Math.min(...others.map(({ rounds }) => of(rounds[round] as SystemRound))),
  );
  return [figure(`${table}, ${column}, by the best ${whom}`, '×', ratios(ours.rounds.map(of), best), goal)];
}

function comparisons(ours: Measured, others: readonly Measured[]): Figure[] {
  const polling = others.filter(({ system }) => system.isSetNxPx);
  const rest = others.filter(({ system }) => !system.isSetNxPx);
  return [
    ...[aloneCpu, ...aloneTimes].flatMap((measure) => [
      ...byBest(measure, ours, rest, 'of the others without SET NX PX', { most: 1 }),
      ...byBest(measure, ours, polling, 'of SET NX PX'),
    ]),
    ...[...queueCpu, ...queueTimes].flatMap((measure) =>
      byBest(measure, ours, others, 'of the others', { most: 1 }),
    ),
    figure(
      'late writes of paused holders that check their deadline, or meet a check of tokens',
      '',
      [ours.late.holderChecks + ours.late.tokenChecked],
      { most: 0 },
    ),
  ];
}

export function figuresOf(measured: readonly Measured[]): Figure[] {
  const isOurs = ({ system }: Measured) => system.title === systems.holdfast.title;
  const ours = measured.find(isOurs);
  if (ours === undefined) throw new Error('Holdfast was not measured');
  const others = measured.filter((one) => !isOurs(one));
  return [
    ...comparisons(ours, others),
    ...measured.flatMap(cellsOf),
    ...measured.flatMap(lateCells),
    ...measured.flatMap(abilityCells),
  ];
}

export function picture(figures: readonly Figure[]): string {
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
