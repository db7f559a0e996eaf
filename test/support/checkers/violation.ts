import type { HistoryEvent, Micros } from '../history';

/** The invariants of `docs/design/invariants.md` that a client history can show, in the order of the report. */
export const INVARIANTS = [
  'exclusion',
  'over_issue',
  'fencing',
  'fifo',
  'lost_wake_up',
  'loss',
  'false_loss',
  'resurrection',
  'idempotence',
  'truthful_offset',
  'leak',
  'recovery',
  'dead_grant',
  'session',
] as const;
export type Invariant = (typeof INVARIANTS)[number];

/** A violated invariant, with the few events that show it. */
export interface Violation {
  readonly invariant: Invariant;
  readonly name: string | null;
  readonly message: string;
  readonly trace: readonly HistoryEvent[];
}

/** The time bounds of the checkers. `latencyUs` depends on the machine. The contract guarantees the other bounds. */
export interface CheckOptions {
  /** The longest delay of a message, a reply or a wake-up without a fault. */
  readonly latencyUs: Micros;
  /** The longest time for which a live waiter may wait while its resource is free. */
  readonly wakeUpUs: Micros;
  /** The longest time from the end of a dead holder's lease to the next grant. */
  readonly recoveryUs: Micros;
  /** The longest time after a server's death for which waiters may wait beside a free resource. */
  readonly serverRecoveryUs: Micros;
  /** The longest time until a server detects a silent client: the keep-alive interval plus the keep-alive timeout. */
  readonly keepAliveUs: Micros;
  /** The time for which an offer waits for its claim. */
  readonly claimUs: Micros;
  /** The longest time from the end of a call until the store no longer runs the call's commands. */
  readonly commandTimeoutUs: Micros;
  /** The time for which an ended request_id is remembered. */
  readonly rememberedUs: Micros;
  /** The time for which a ticket is kept after the end of its call. */
  readonly ticketKeptUs: Micros;
  /** The longest time between two renewals of a stream. */
  readonly renewalUs: Micros;
}

export const DEFAULT_OPTIONS: CheckOptions = {
  latencyUs: 250_000,
  wakeUpUs: 1_000_000,
  recoveryUs: 250_000,
  serverRecoveryUs: 8_000_000,
  keepAliveUs: 15_000_000,
  claimUs: 3_000_000,
  commandTimeoutUs: 2_000_000,
  rememberedUs: 60_000_000,
  ticketKeptUs: 10_000_000,
  renewalUs: 10_000_000,
};

/** Formats one line per event, with the milliseconds since the first event. */
export function formatTrace(trace: readonly HistoryEvent[]): string {
  const sorted = [...new Set(trace)].sort((a, b) => a.at - b.at);
  const start = sorted[0]?.at ?? 0;
  return sorted
    .map((event) => {
      const { at, source, seq, type, ...rest } = event;
      const ms = ((at - start) / 1000).toFixed(3).padStart(12);
      return `  ${ms} ms  ${source}#${seq} ${type} ${JSON.stringify(rest)}`;
    })
    .join('\n');
}

export function formatViolation(violation: Violation): string {
  const where = violation.name === null ? '' : ` ${JSON.stringify(violation.name)}`;
  return `${violation.invariant}${where}: ${violation.message}\n${formatTrace(violation.trace)}`;
}
