import type { Invariant } from '../../../support/checkers/violation';
import type { FaultName } from '../nemesis/faults';
import { luaPatch, type Patch } from './patch';

/** A fault built into the product on purpose: a checker that does not catch it is worth nothing. */
export interface Mutant {
  /** What it does wrong. */
  readonly about: string;
  readonly patches: readonly Patch[];
  /** The faults beside which it shows. */
  readonly faults: readonly FaultName[];
  /** Any of these must speak. */
  readonly caughtBy: readonly Invariant[];
}

export const MUTANTS: Readonly<Record<string, Mutant>> = {
  lifo: {
    about: 'the youngest waiter is served first',
    patches: [
      luaPatch(
        "local id = redis.call('ZRANGE', QUEUE, '0', '0')[1]",
        "local id = redis.call('ZREVRANGE', QUEUE, '0', '0')[1]",
      ),
    ],
    faults: [],
    caughtBy: ['fifo'],
  },
};

export function findMutant(name: string): Mutant {
  const mutant = MUTANTS[name];
  if (mutant === undefined) throw new Error(`there is no mutant ${name}`);
  return mutant;
}
