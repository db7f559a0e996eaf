import type { Habits } from '../load/chapter';
import type { Range } from './interruptions';

/** What is wrong in the world while the contenders are played; `name` is a column of the results. */
export interface Scenario {
  readonly name: string;
  readonly forMs: number;
  /** Of a machine, which each load process stands for. */
  readonly habitsOf: (machine: number) => Habits;
  /** The Holdfast server is stopped for as long, too, twice: it is one process more that can be. */
  readonly stopServerMs?: number;
}

/** Machines, each a process with a clock of its own. */
export const MACHINES = 4;

const HOLD_MS: Range = [5, 15];
const IDLE_MS: Range = [1, 5];
const calm: Habits = { ttlMs: 3000, holdMs: HOLD_MS, idleMs: IDLE_MS, clockAheadMs: 0 };

/** Nobody else is there: what an acquire and a release cost by themselves. */
export const alone: Scenario = {
  name: 'alone',
  forMs: 600,
  habitsOf: () => ({ ...calm, holdMs: [0, 0], idleMs: [0, 0] }),
};

export const equalClocks: Scenario = { name: 'equal clocks', forMs: 1800, habitsOf: () => calm };

const tenMillisecondsApart: Scenario = {
  name: 'clocks 10 ms apart',
  forMs: 1000,
  habitsOf: (machine) => ({ ...calm, clockAheadMs: [0, 10, 0, 10][machine] ?? 0 }),
};

/** As far apart as the chapter allows for the fair semaphore, with a quarter of its TTL, so that a benchmark sees it. */
const twoSecondsApart: Scenario = {
  name: 'clocks 2 s apart',
  forMs: 3000,
  habitsOf: (machine) => ({
    ...calm,
    ttlMs: 2500,
    longHold: { oneIn: 15, ms: [600, 900] },
    clockAheadMs: [0, 10, 500, 2000][machine] ?? 0,
  }),
};

const LONGER_THAN_TTL_MS = 400;
const pauses: Scenario = {
  name: 'pauses',
  forMs: 2000,
  habitsOf: () => ({
    ...calm,
    ttlMs: 300,
    pauses: { everyMs: 200, shortMs: [5, 50], longOneIn: 4, longMs: LONGER_THAN_TTL_MS },
  }),
  stopServerMs: LONGER_THAN_TTL_MS,
};

const deaths: Scenario = {
  name: 'deaths',
  forMs: 1500,
  habitsOf: () => ({ ...calm, ttlMs: 300, deathOneIn: 10 }),
};

/** Two machines want it for long and two for a moment, each with a TTL that suits it. */
const mixedTtls: Scenario = {
  name: 'mixed TTLs',
  forMs: 2000,
  habitsOf: (machine) =>
    machine < 2 ? { ...calm, ttlMs: 300 } : { ...calm, longHold: { oneIn: 3, ms: [400, 600] } },
};

/** In the order of the results. */
export const allScenarios = [equalClocks, tenMillisecondsApart, twoSecondsApart, pauses, deaths, mixedTtls];
/** A dead holder's permits come back to a semaphore as they do when it is paused. */
export const semaphoreScenarios = allScenarios.filter((scenario) => scenario !== deaths);
/** What 2 s do not disturb, 10 ms do not either. */
export const lockScenarios = allScenarios.filter((scenario) => scenario !== tenMillisecondsApart);
