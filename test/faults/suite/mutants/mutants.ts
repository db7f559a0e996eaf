import type { Invariant } from '../../../support/checkers/violation';
import type { FaultName } from '../nemesis/faults';
import { clientMutants } from './client-mutants';
import { engineMutants } from './engine-mutants';
import { epochMutants } from './epoch-mutants';
import type { PlanOptions } from '../plan';
import type { Patch } from '../../../support/build-variant';
import { scriptMutants } from './script-mutants';
import { sessionMutants } from './session-mutants';

/** A mistake in a copy of the product, to prove that the checkers detect the mistake. */
export interface Mutant {
  /** A description of the mistake. */
  readonly about: string;
  readonly patches: readonly Patch[];
  /** The faults that reveal the mistake. Empty if the mistake shows without faults. */
  readonly faults: readonly FaultName[];
  /** Deviations from the usual plan of a round. */
  readonly play?: Partial<Pick<PlanOptions, 'pace' | 'size' | 'topology' | 'canStepClocks'>>;
  /** At least one of these checkers must report a violation. */
  readonly caughtBy: readonly Invariant[];
}

export const MUTANTS = {
  ...scriptMutants,
  ...epochMutants,
  ...engineMutants,
  ...clientMutants,
  ...sessionMutants,
} as const;
export type MutantName = keyof typeof MUTANTS;
export const MUTANT_NAMES = Object.keys(MUTANTS) as MutantName[];

export function isMutantName(name: string): name is MutantName {
  return name in MUTANTS;
}

export function mutantOf(name: MutantName): Mutant {
  return MUTANTS[name];
}
