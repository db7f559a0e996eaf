import type { History } from '../history';
import { checkDeadGrant, checkLostWakeUp } from './starvation';
import { checkExclusion, checkFencing, checkOverIssue } from './safety';
import { checkFalseLoss, checkLoss } from './loss';
import { checkFifo } from './fifo';
import { checkIdempotence, checkResurrection, checkTruthfulOffset } from './answers';
import { checkLeak, checkRecovery } from './recovery';
import { checkSession } from './session';
import type { Timeline } from './timeline';
import { readTimeline } from './timeline-reader';
import {
  DEFAULT_OPTIONS,
  formatViolation,
  INVARIANTS,
  type CheckOptions,
  type Invariant,
  type Violation,
} from './violation';

type Checker = (timeline: Timeline, options: CheckOptions) => Violation[];

const CHECKERS: Readonly<Record<Invariant, Checker>> = {
  exclusion: checkExclusion,
  over_issue: checkOverIssue,
  fencing: checkFencing,
  fifo: checkFifo,
  lost_wake_up: checkLostWakeUp,
  loss: checkLoss,
  false_loss: checkFalseLoss,
  resurrection: checkResurrection,
  idempotence: checkIdempotence,
  truthful_offset: checkTruthfulOffset,
  leak: checkLeak,
  recovery: checkRecovery,
  dead_grant: checkDeadGrant,
  session: checkSession,
};

export interface CheckResult {
  readonly violations: readonly Violation[];
  /** The number of grants. A history without grants proves nothing. */
  readonly grantCount: number;
  readonly report: string;
}

export interface CheckAllOptions extends Partial<CheckOptions> {
  /** The invariants to check. Default: all. */
  readonly only?: readonly Invariant[];
}

/** Runs the checkers over a history. The report has up to three traces per invariant. */
export function checkAll(history: History, given: CheckAllOptions = {}): CheckResult {
  const { only = INVARIANTS, ...allowances } = given;
  const options: CheckOptions = { ...DEFAULT_OPTIONS, ...allowances };
  const timeline = readTimeline(history);
  const found = only.map((invariant) => ({ invariant, violations: CHECKERS[invariant](timeline, options) }));
  const violations = found.flatMap((entry) => entry.violations);
  const grantCount = timeline.grants.length;
  const lines = found
    .filter((entry) => entry.violations.length > 0)
    .map(({ invariant, violations: all }) => {
      const shown = all.slice(0, 3).map(formatViolation);
      const rest =
        all.length > shown.length ? [`... and ${all.length - shown.length} more of ${invariant}`] : [];
      return [...shown, ...rest].join('\n');
    });
  const summary = `${history.length} events, ${grantCount} grants, ${violations.length} violations`;
  return { violations, grantCount, report: [summary, ...lines].join('\n') };
}

/** Throws the report on any violation, and an error on a history without grants. */
export function expectInvariantsToHold(history: History, options: CheckAllOptions = {}): void {
  const result = checkAll(history, options);
  if (result.grantCount === 0) throw new Error('the history has no grant, so it proves nothing');
  if (result.violations.length > 0) throw new Error(result.report);
}
