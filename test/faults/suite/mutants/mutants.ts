import type { Invariant } from '../../../support/checkers/violation';
import type { FaultName } from '../nemesis/faults';
import { clientMutants } from './client-mutants';
import { engineMutants } from './engine-mutants';
import { epochMutants } from './epoch-mutants';
import type { PlanOptions } from '../plan';
import type { Patch } from '../../../support/build-variant';
import { scriptMutants } from './script-mutants';

/** A fault built into the product on purpose: a checker that does not catch it is worth nothing. */
export interface Mutant {
  /** What it does wrong. */
  readonly about: string;
  readonly patches: readonly Patch[];
  /** The faults beside which it shows; none where it shows by itself. */
  readonly faults: readonly FaultName[];
  /** How it is played, where that is not the usual way. */
  readonly play?: Partial<Pick<PlanOptions, 'pace' | 'size' | 'topology' | 'canStepClocks'>>;
  /** One of these must speak. */
  readonly caughtBy: readonly Invariant[];
}

export const MUTANTS = { ...scriptMutants, ...epochMutants, ...engineMutants, ...clientMutants } as const;
export type MutantName = keyof typeof MUTANTS;
export const MUTANT_NAMES = Object.keys(MUTANTS) as MutantName[];

export function isMutantName(name: string): name is MutantName {
  return name in MUTANTS;
}

export function mutantOf(name: MutantName): Mutant {
  return MUTANTS[name];
}
