import type { Invariant } from '../../../support/checkers/violation';
import { planRound } from '../plan';
import { runRound, type RoundOutcome } from '../round';
import { buildMutant } from './build-mutant';
import { mutantOf, type MutantName } from './mutants';

export interface MutantResult {
  readonly mutant: MutantName;
  readonly about: string;
  readonly seed: number;
  /** Seconds of traffic until the first violation. Undefined if the mutant was not caught. */
  readonly afterSeconds: number | undefined;
  /** The number of violations of each invariant in that round. */
  readonly by: Readonly<Partial<Record<Invariant, number>>>;
  /** Other defects of the rounds, if the mutant was not caught. */
  readonly defects: readonly string[];
}

/** A mutant must be caught within a minute of traffic. */
const TRAFFIC_MS = 28_000;
const MAX_ROUNDS = 2;

/** Runs rounds with a mutant until one of its checkers reports a violation. */
export async function runMutant(name: MutantName, seed: number): Promise<MutantResult> {
  const mutant = mutantOf(name);
  const { about } = mutant;
  const { programs, remove } = await buildMutant(mutant);
  const defects: string[] = [];
  try {
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const plan = planRound({
        seed: seed + round,
        topology: 'one',
        faults: mutant.faults,
        canStepClocks: false,
        trafficMs: TRAFFIC_MS,
        pace: 'often',
        ...mutant.play,
      });
      const outcome = await runRound(plan, programs);
      const by = count(outcome);
      defects.push(...outcome.defects);
      if (!mutant.caughtBy.some((invariant) => (by[invariant] ?? 0) > 0)) continue;
      const afterSeconds = (round * TRAFFIC_MS) / 1000 + firstAfter(outcome, mutant.caughtBy);
      return { mutant: name, about, seed: plan.seed, afterSeconds, by, defects: [] };
    }
    return { mutant: name, about, seed, afterSeconds: undefined, by: {}, defects };
  } finally {
    await remove();
  }
}

function count({ checks }: RoundOutcome): Partial<Record<Invariant, number>> {
  const counts: Partial<Record<Invariant, number>> = {};
  for (const { invariant } of checks.violations) counts[invariant] = (counts[invariant] ?? 0) + 1;
  return counts;
}

function firstAfter({ checks, history }: RoundOutcome, invariants: readonly Invariant[]): number {
  const began = history.find(({ type }) => type === 'asked')?.at ?? 0;
  const ends = checks.violations
    .filter(({ invariant }) => invariants.includes(invariant))
    .map(({ trace }) => Math.max(...trace.map(({ at }) => at)));
  return (Math.min(...ends) - began) / 1_000_000;
}
