import type { WorkerSettings } from '../load/chapter';
import type { Range } from './interruptions';

/** The faults of a run. The `name` is the title of a column in the results. */
export interface Scenario {
  readonly name: string;
  readonly forMs: number;
  /** The settings of the workers on a machine. Each load process stands for a machine. */
  readonly workerSettingsOf: (machine: number) => WorkerSettings;
  /** Stops the Holdfast server twice for this time, because the server is another process that may pause. */
  readonly stopServerMs?: number;
}

/** The number of machines. Each machine is a process with its own clock. */
export const MACHINES = 4;

const HOLD_MS: Range = [5, 15];
const IDLE_MS: Range = [1, 5];
const noFaults: WorkerSettings = { ttlMs: 3000, holdMs: HOLD_MS, idleMs: IDLE_MS, clockAheadMs: 0 };

/** A single worker without contention. Shows the cost of an acquire and a release. */
export const alone: Scenario = {
  name: 'alone',
  forMs: 600,
  workerSettingsOf: () => ({ ...noFaults, holdMs: [0, 0], idleMs: [0, 0] }),
};

export const equalClocks: Scenario = { name: 'equal clocks', forMs: 1800, workerSettingsOf: () => noFaults };

const tenMillisecondsApart: Scenario = {
  name: 'clocks 10 ms apart',
  forMs: 1000,
  workerSettingsOf: (machine) => ({ ...noFaults, clockAheadMs: [0, 10, 0, 10][machine] ?? 0 }),
};

/** The largest clock difference that the chapter allows for the fair semaphore, with a quarter of the chapter's TTL. */
const twoSecondsApart: Scenario = {
  name: 'clocks 2 s apart',
  forMs: 3000,
  workerSettingsOf: (machine) => ({
    ...noFaults,
    ttlMs: 2500,
    longHold: { oneIn: 15, ms: [600, 900] },
    clockAheadMs: [0, 10, 500, 2000][machine] ?? 0,
  }),
};

const LONGER_THAN_TTL_MS = 400;
const pauses: Scenario = {
  name: 'pauses',
  forMs: 2000,
  workerSettingsOf: () => ({
    ...noFaults,
    ttlMs: 300,
    pauses: { everyMs: 200, shortMs: [5, 50], longOneIn: 4, longMs: LONGER_THAN_TTL_MS },
  }),
  stopServerMs: LONGER_THAN_TTL_MS,
};

const deaths: Scenario = {
  name: 'deaths',
  forMs: 1500,
  workerSettingsOf: () => ({ ...noFaults, ttlMs: 300, deathOneIn: 10 }),
};

/** Two machines hold for long and two hold briefly, each with a suitable TTL. */
const mixedTtls: Scenario = {
  name: 'mixed TTLs',
  forMs: 2000,
  workerSettingsOf: (machine) =>
    machine < 2 ? { ...noFaults, ttlMs: 300 } : { ...noFaults, longHold: { oneIn: 3, ms: [400, 600] } },
};

/** The scenarios in the order of the results. */
export const allScenarios = [equalClocks, tenMillisecondsApart, twoSecondsApart, pauses, deaths, mixedTtls];
/** `deaths` is left out, because a dead holder of a semaphore has the same effect as a paused holder. */
export const semaphoreScenarios = allScenarios.filter((scenario) => scenario !== deaths);
/** `clocks 10 ms apart` is left out, because a lock that works with 2 s also works with 10 ms. */
export const lockScenarios = allScenarios.filter((scenario) => scenario !== tenMillisecondsApart);
