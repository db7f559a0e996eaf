import { formatViolation, type Violation } from '../../../support/checkers/violation';
import { sum, tallyRound, type FaultTally, type RoundTally } from './tally';
import type { RoundOutcome } from '../round';
import type { Topology } from '../plan';

/** A round in which something was not as it must be. */
export interface FailedRound {
  readonly seed: number;
  /** How many violations of which invariant. */
  readonly violations: Readonly<Record<string, number>>;
  readonly defects: readonly string[];
  /** The one that shows it by the fewest events, as text. */
  readonly smallest: string | undefined;
}

/** What is run. */
export interface RunSubject {
  /** Of its first round. */
  readonly seed: number;
  readonly topology: Topology;
  /** What the plan of a seed is drawn by, and what was tried. */
  readonly commit: string;
  /** In each client process; undefined: as the plan has it. */
  readonly workerCount?: number | undefined;
}

/** What a run did and found; all of it is kept, histories only of rounds that failed. */
export interface RunReport extends RunSubject {
  readonly seconds: number;
  readonly rounds: number;
  readonly operations: number;
  readonly refused: number;
  readonly grants: number;
  readonly streamEvents: number;
  readonly stalledMs: number;
  readonly faults: readonly FaultTally[];
  readonly failed: readonly FailedRound[];
}

/** Adds up the rounds of a run; of a round only numbers are kept. */
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

  /** A round that could not be played to its end. */
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
      stalledMs: total(({ stalledMs }) => stalledMs),
      faults: mergeFaults(tallies.flatMap(({ faults }) => faults)),
      failed,
    };
  }
}

/** One row for each kind. */
export function mergeFaults(all: readonly FaultTally[]): FaultTally[] {
  const kinds = [...new Set(all.map(({ fault }) => fault))].sort();
  return kinds.map((fault) => {
    const those = all.filter((tally) => tally.fault === fault);
    return {
      fault,
      drawn: those.reduce((count, { drawn }) => count + drawn, 0),
      counted: those.reduce((count, { counted }) => count + counted, 0),
      did: sum(those.map(({ did }) => did)),
      felt: sum(those.map(({ felt }) => felt)),
      firstGrantMs: those.flatMap(({ firstGrantMs }) => firstGrantMs),
      allGrantedMs: those.flatMap(({ allGrantedMs }) => allGrantedMs),
    };
  });
}

function failureOf({ plan, checks, defects }: RoundOutcome): FailedRound | undefined {
  const { violations } = checks;
  if (violations.length === 0 && defects.length === 0 && checks.grantCount > 0) return undefined;
  const nothing = checks.grantCount === 0 ? ['nothing was granted, so nothing was shown'] : [];
  const counts: Record<string, number> = {};
  for (const { invariant } of violations) counts[invariant] = (counts[invariant] ?? 0) + 1;
  return {
    seed: plan.seed,
    violations: counts,
    defects: [...defects, ...nothing],
    smallest: smallest(violations),
  };
}

/** The violation that the fewest events show. */
function smallest(violations: readonly Violation[]): string | undefined {
  const [first] = [...violations].sort((a, b) => a.trace.length - b.trace.length);
  return first && formatViolation(first);
}
