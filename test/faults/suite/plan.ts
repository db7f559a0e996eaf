import { between, oneOf, seeded, type Random } from '../../support/random';
import type { Service } from '../../../src/leases/lease';
import type { Step } from './nemesis/nemesis';
import { FAULT_NAMES, faultOf, type FaultName } from './nemesis/faults';

export const TOPOLOGIES = ['one', 'sentinel', 'cluster'] as const;
export type Topology = (typeof TOPOLOGIES)[number];

/** A planned resource of a round. The round chooses the resource's name. */
export interface PlannedResource {
  readonly service: Service;
  readonly label: string;
  /** The first limit of a semaphore. */
  readonly limit: number;
  readonly mostPermits: number;
  readonly sharedPercent: number;
  /** The relative frequency with which workers choose the resource. */
  readonly share: number;
  /** True if very many leases fit, so that large sessions use the resource. */
  readonly isWide: boolean;
}

/** A change of a limit during the traffic. */
export interface LimitMove {
  readonly atMs: number;
  readonly label: string;
  readonly limit: number;
}

/** A revocation during the traffic: of the first holder, of all holders, or of the last waiter that a view shows. */
export interface PlannedRevocation {
  readonly atMs: number;
  readonly label: string;
  readonly what: 'holder' | 'all' | 'waiter';
  readonly force: boolean;
}

/** The planned actions of a round. The seed determines the plan, but not the scheduling of processes. */
export interface RoundPlan {
  readonly seed: number;
  readonly topology: Topology;
  readonly appendfsync: 'always' | 'everysec' | 'no';
  readonly memberCount: number;
  readonly withStoreProxy: readonly boolean[];
  readonly withClientProxy: readonly boolean[];
  readonly withClocks: boolean;
  readonly processCount: number;
  readonly workerCount: number;
  /** The numbers of leases that the users of sessions of each process want at the same time. */
  readonly sessionSizes: readonly number[];
  /** The percentage of waits that outlast a stall of the store. */
  readonly longWaitPercent: number;
  readonly resources: readonly PlannedResource[];
  readonly trafficMs: number;
  readonly limitMoves: readonly LimitMove[];
  readonly revocations: readonly PlannedRevocation[];
  readonly steps: readonly Step[];
}

export interface PlanOptions {
  readonly seed: number;
  readonly topology: Topology;
  /** The faults to draw from. Default: all faults. */
  readonly faults?: readonly FaultName[];
  /** If false, the plan has no fault that steps a clock. */
  readonly canStepClocks: boolean;
  readonly trafficMs?: number;
  /** Workers per process. The default depends on `size`. With fewer, the largest sessions are smaller in proportion. */
  readonly workerCount?: number;
  /** The pace of the faults for a mutant. Default: a random pace. */
  readonly pace?: keyof typeof MUTANT_PACES_MS;
  /** The numbers of servers, processes, workers and names. Default: `whole`. */
  readonly size?: keyof typeof SIZES;
}

const SIZES = {
  whole: {
    memberCount: 3,
    processCount: 3,
    workerCount: 40,
    hotNames: 5,
    quietNames: 300,
    wideNames: 60,
    largestSession: 1000,
    longWaitPercent: 25,
  },
  /** The size for a test of the slow run. */
  small: {
    memberCount: 2,
    processCount: 2,
    workerCount: 6,
    hotNames: 5,
    quietNames: 8,
    wideNames: 4,
    largestSession: 40,
    longWaitPercent: 25,
  },
  /** All workers request the same few names and wait long, so that queues outlast a stall of the store. */
  crowded: {
    memberCount: 3,
    processCount: 3,
    workerCount: 24,
    hotNames: 2,
    quietNames: 0,
    wideNames: 0,
    largestSession: 4,
    longWaitPercent: 90,
  },
} as const;
/** The frequency of a hot name, relative to a quiet name. */
const HOT_SHARE = 3;
const TRAFFIC_MS = 90_000;
/** Sentinel and Cluster cannot prove that nothing is lost, so `always` makes no difference there. */
const WEAK_FSYNCS = ['everysec', 'no'] as const;
const FSYNCS = ['always', 'always', ...WEAK_FSYNCS] as const;
/** The times between the starts of two faults (ms). The longest leaves quiet times, in which more invariants apply. */
const PACES_MS: readonly (readonly [number, number])[] = [
  [300, 2500],
  [2000, 6000],
  [6000, 15_000],
];
/** The numbers of faults that may pause grants in a round. A pause takes a quarter of the round. */
const MAX_PAUSES = [0, 0, 1, 1, 1, 2, 2, Infinity] as const;
/** Paces for mutants: many faults, faults with time for long queues between them, or a single fault. */
const MUTANT_PACES_MS = { often: [2000, 4000], apart: [8000, 8600], once: [3_600_000, 3_600_000] } as const;
/** The traffic runs without faults at its start and end. */
const QUIET_START_MS = 1000;
const QUIET_END_MS = 10_000;
const LIMIT_EVERY_MS = [3000, 9000] as const;
const REVOKE_EVERY_MS = [500, 2500] as const;

export function planRound(options: PlanOptions): RoundPlan {
  const { seed, topology, canStepClocks, trafficMs = TRAFFIC_MS, size = 'whole' } = options;
  const { memberCount, processCount, longWaitPercent, largestSession, ...sized } = SIZES[size];
  const { workerCount: usual, ...nameCounts } = sized;
  const { workerCount = usual } = options;
  const random = seeded(seed);
  // Only some rounds have clock steps, because the shim makes each read of the clock slower.
  const appendfsync = oneOf(random, topology === 'one' ? FSYNCS : WEAK_FSYNCS);
  const withClocks = canStepClocks && (random() < 0.4 || (options.faults ?? []).some(needsClocks));
  const names = (options.faults ?? FAULT_NAMES).filter(
    (name) => (withClocks || !needsClocks(name)) && isPossible(name, topology, appendfsync),
  );
  const resources = planResources(random, nameCounts);
  const pace = options.pace === undefined ? oneOf(random, PACES_MS) : MUTANT_PACES_MS[options.pace];
  const drawing: Drawing = {
    names,
    pausing: new Set(names.filter((name) => faultOf(name).pauses?.({ topology, appendfsync }) ?? false)),
    maxPauses: options.faults === undefined ? oneOf(random, MAX_PAUSES) : Infinity,
  };
  const steps = planSteps(random, drawing, pace, trafficMs);
  // A machine that has too little time for all workers has too little for the largest sessions, too.
  const share = Math.min(workerCount / usual, 1);
  const sessionSizes = [1, 3, largestSession * share].map((most) => sessionSize(random, Math.max(most, 1)));
  const needs = new Set(steps.map(({ fault }) => faultOf(fault).needs));
  return {
    seed,
    topology,
    appendfsync,
    memberCount,
    withStoreProxy: proxies(memberCount, needs.has('store proxy')),
    withClientProxy: proxies(memberCount, needs.has('client proxy')),
    withClocks,
    processCount,
    workerCount,
    sessionSizes,
    longWaitPercent,
    resources,
    trafficMs,
    limitMoves: planLimits(random, resources, trafficMs),
    revocations: planRevocations(random, resources, trafficMs),
    steps,
  };
}

/** Small sessions are as frequent as large sessions. */
function sessionSize(random: Random, most: number): number {
  return Math.round(most ** random());
}

type NameCounts = Readonly<Record<'hotNames' | 'quietNames' | 'wideNames', number>>;

/** The limit of a wide semaphore. */
const WIDE_LIMIT = 60;

/** Plans a few hot names with long queues, many quiet names for throughput, and wide names for large sessions. */
function planResources(random: Random, { hotNames, quietNames, wideNames }: NameCounts): PlannedResource[] {
  const lock = (label: string, sharedPercent = 0) =>
    ({ service: 'lock', label, limit: 1, mostPermits: 1, sharedPercent }) as const;
  const semaphore = (label: string, limit: number, mostPermits: number) =>
    ({ service: 'semaphore', label, limit, mostPermits, sharedPercent: 0 }) as const;
  const hot = [
    lock('hot lock a'),
    semaphore('hot permits a', between(random, 2, 4), 2),
    lock('hot document', between(random, 50, 90)),
    semaphore('hot permits b', between(random, 4, 10), 5),
    lock('hot lock b'),
  ].slice(0, hotNames);
  const quiet = Array.from({ length: quietNames }, (_, index) => {
    if (index % 4 === 1) return lock(`document ${index}`, 70);
    if (index % 4 === 3) return semaphore(`permits ${index}`, between(random, 1, 6), 1 + (index % 3));
    return lock(`lock ${index}`);
  });
  const wide = Array.from({ length: wideNames }, (_, index) =>
    index % 2 === 0 ? semaphore(`wide gate ${index}`, WIDE_LIMIT, 2) : lock(`wide page ${index}`, 98),
  );
  return [
    ...hot.map((one) => ({ ...one, share: HOT_SHARE, isWide: false })),
    ...quiet.map((one) => ({ ...one, share: 1, isWide: false })),
    ...wide.map((one) => ({ ...one, share: 1, isWide: true })),
  ];
}

interface Drawing {
  readonly names: readonly FaultName[];
  /** The faults after which grants may pause. */
  readonly pausing: ReadonlySet<FaultName>;
  readonly maxPauses: number;
}

function planSteps(
  random: Random,
  { names, pausing, maxPauses }: Drawing,
  pace: readonly [number, number],
  trafficMs: number,
): Step[] {
  const steps: Step[] = [];
  const lasting = names.filter((name) => !pausing.has(name));
  let pauses = 0;
  const last = Math.max(QUIET_START_MS + 1, trafficMs - Math.min(QUIET_END_MS, trafficMs / 3));
  for (let atMs = QUIET_START_MS; atMs < last; atMs += between(random, ...pace)) {
    const possible = pauses < maxPauses ? names : lasting;
    if (possible.length === 0) break;
    const fault = drawFault(random, possible);
    if (pausing.has(fault)) pauses += 1;
    steps.push({ atMs, fault, seed: between(random, 0, 2 ** 31) });
  }
  return steps;
}

function drawFault(random: Random, names: readonly FaultName[]): FaultName {
  const weighted = names.flatMap((name) => Array<FaultName>(faultOf(name).weight ?? 1).fill(name));
  return oneOf(random, weighted);
}

function planLimits(random: Random, resources: readonly PlannedResource[], trafficMs: number): LimitMove[] {
  const semaphores = resources.filter(({ service }) => service === 'semaphore');
  const moves: LimitMove[] = [];
  for (let atMs = QUIET_START_MS; atMs < trafficMs; atMs += between(random, ...LIMIT_EVERY_MS)) {
    const { label, limit, mostPermits } = oneOf(random, semaphores);
    moves.push({ atMs, label, limit: oneOf(random, [limit, limit, mostPermits, 1, 0, 2 * limit]) });
  }
  return [...moves, ...semaphores.map(({ label, limit }) => ({ atMs: trafficMs, label, limit }))];
}

/** Most revocations are of one lease without force, because they must keep the permits. */
function planRevocations(
  random: Random,
  resources: readonly PlannedResource[],
  trafficMs: number,
): PlannedRevocation[] {
  const hot = resources.filter(({ share }) => share > 1);
  const revocations: PlannedRevocation[] = [];
  for (let atMs = QUIET_START_MS; atMs < trafficMs; atMs += between(random, ...REVOKE_EVERY_MS)) {
    const { label } = oneOf(random, hot);
    const what = oneOf(random, ['holder', 'holder', 'holder', 'all', 'waiter'] as const);
    revocations.push({ atMs, label, what, force: random() < 0.15 });
  }
  return revocations;
}

/** The first member never has a proxy, so that its results can be compared. */
function proxies(memberCount: number, needed: boolean): boolean[] {
  return Array.from({ length: memberCount }, (_, index) => needed && index > 0);
}

function isPossible(name: FaultName, topology: Topology, appendfsync: RoundPlan['appendfsync']): boolean {
  const { topologies, appendfsyncs } = faultOf(name);
  return (topologies?.includes(topology) ?? true) && (appendfsyncs?.includes(appendfsync) ?? true);
}

function needsClocks(name: FaultName): boolean {
  return faultOf(name).needs === 'clocks';
}
