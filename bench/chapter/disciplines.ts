import { locks, semaphores, type ContenderName } from './contenders';
import { lockScenarios, semaphoreScenarios, type Scenario } from './scenarios';

/** Locks or semaphores: the contenders, the names, and the number of workers on each machine. */
export interface Discipline {
  readonly contenders: readonly ContenderName[];
  readonly ours: ContenderName;
  readonly chapters: readonly ContenderName[];
  readonly scenarios: readonly Scenario[];
  readonly limit: number;
  readonly names: readonly string[];
  readonly workersOfMachine: number;
  /** The counted failure. Rates are per 1,000 grants. */
  readonly failure: string;
}

/** Both disciplines have twelve workers and at most three concurrent holders. */
export const disciplines: readonly Discipline[] = [
  {
    contenders: Object.keys(semaphores) as ContenderName[],
    ours: 'Holdfast semaphore',
    chapters: ['basic, time stamps', 'fair, counter', 'correct, fair with a lock'],
    scenarios: semaphoreScenarios,
    limit: 3,
    names: ['pool'],
    workersOfMachine: 3,
    failure: 'permits over the limit',
  },
  {
    contenders: Object.keys(locks) as ContenderName[],
    ours: 'Holdfast lock',
    chapters: ['SETNX', 'SETNX + EXPIRE', 'DEL + SETNX take-over', 'GETSET take-over', 'SET NX PX'],
    scenarios: lockScenarios,
    limit: 1,
    names: ['first', 'second', 'third'],
    workersOfMachine: 1,
    failure: 'locks held twice',
  },
];
