import { formatViolation, type Violation } from '../../../support/checkers/violation';
import { sum, tallyRound, type FaultTally, type RoundTally } from './tally';
import type { RoundOutcome } from '../round';
import type { Topology } from '../plan';

/** A round with violations or other defects. */
export interface FailedRound {
  readonly seed: number;
  /** The number of violations by invariant. */
  readonly violations: Readonly<Record<string, number>>;
  readonly defects: readonly string[];
  /** The violation with the fewest events, as text. */
  readonly smallest: string | undefined;
}

/** The arguments of a run. */
export interface RunSubject {
  /** The seed of the first round. */
  readonly seed: number;
  readonly topology: Topology;
  /** The tested commit. The plan of a seed depends on the commit. */
  readonly commit: string;
  /** The commit of the other build of the servers. Undefined: all servers are builds of `commit`. */
  readonly beside?: string | undefined;
  /** Workers per client process. If undefined, the plan determines the number. */
  readonly workerCount?: number | undefined;
}

/** The report of a run. Histories are saved only for failed rounds. */
export interface RunReport extends RunSubject {
  readonly seconds: number;
  readonly rounds: number;
  readonly operations: number;
  readonly refused: number;
  readonly grants: number;
  readonly streamEvents: number;
  /** How many operations shared a command to Redis. Undefined: an earlier run, which did not count them. */
  readonly shared?: number;
  readonly stalledMs: number;
  readonly faults: readonly FaultTally[];
  readonly failed: readonly FailedRound[];
}

/** Sums the numbers of the rounds of a run. */
export class RunTally {
  private readonly tallies: RoundTally[] = [];
  private readonly failed: FailedRound[] = [];

  constructor(private readonly subject: RunSubject) {}

  add(outcome: RoundOutcome): FailedRound | undefined {
    this.tallies.push(tallyRound(outcome));
    const failed = failureOf(outcome);
    if (failed !== undefined) this.failed.push(failed);
    return failed;
  }

  /** Adds a round that could not be completed. */
  addBroken(seed: number, error: Error): FailedRound {
    const broken = { seed, violations: {}, defects: [error.message], smallest: undefined };
    this.failed.push(broken);
    return broken;
  }

  report(seconds: number): RunReport {
    const { subject, tallies, failed } = this;
    const total = (of: (tally: RoundTally) => number) => tallies.reduce((all, tally) => all + of(tally), 0);
    return {
      ...subject,
      seconds,
      rounds: tallies.length,
      operations: total(({ operations }) => operations),
      refused: total(({ refused }) => refused),
      grants: total(({ grants }) => grants),
      streamEvents: total(({ streamEvents }) => streamEvents),
      shared: total(({ shared }) => shared),
      stalledMs: total(({ stalledMs }) => stalledMs),
      faults: mergeFaults(tallies.flatMap(({ faults }) => faults)),
      failed,
    };
  }
}

/** Merges the tallies of each fault into one row. */
export function mergeFaults(all: readonly FaultTally[]): FaultTally[] {
  const kinds = [...new Set(all.map(({ fault }) => fault))].sort();
  return kinds.map((fault) => {
    const tallies = all.filter((tally) => tally.fault === fault);
    return {
      fault,
      drawn: tallies.reduce((count, { drawn }) => count + drawn, 0),
      counted: tallies.reduce((count, { counted }) => count + counted, 0),
      effect: sum(tallies.map(({ effect }) => effect)),
      felt: sum(tallies.map(({ felt }) => felt)),
      firstGrantMs: tallies.flatMap(({ firstGrantMs }) => firstGrantMs),
      allGrantedMs: tallies.flatMap(({ allGrantedMs }) => allGrantedMs),
    };
  });
}

function failureOf({ plan, checks, defects }: RoundOutcome): FailedRound | undefined {
  const { violations } = checks;
  if (violations.length === 0 && defects.length === 0 && checks.grantCount > 0) return undefined;
  const nothing = checks.grantCount === 0 ? ['no grant, so the round proves nothing'] : [];
  const counts: Record<string, number> = {};
  for (const { invariant } of violations) counts[invariant] = (counts[invariant] ?? 0) + 1;
  return {
    seed: plan.seed,
    violations: counts,
    defects: [...defects, ...nothing],
    smallest: smallest(violations),
  };
}

/** The violation with the fewest events. */
function smallest(violations: readonly Violation[]): string | undefined {
  const [first] = [...violations].sort((a, b) => a.trace.length - b.trace.length);
  return first && formatViolation(first);
}
