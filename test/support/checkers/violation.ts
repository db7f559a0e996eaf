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
] as const;
export type Invariant = (typeof INVARIANTS)[number];

/** A violated invariant, with the few events that show it. */
export interface Violation {
  readonly invariant: Invariant;
  readonly name: string | null;
  readonly message: string;
  readonly trace: readonly HistoryEvent[];
}

/** The time bounds of the checkers. `latencyUs` is the machine's; the others are guaranteed by the contract. */
export interface CheckOptions {
  /** The longest delay of a message, a reply or a wake-up without a fault. */
  readonly latencyUs: Micros;
  /** How long a free resource and a live waiter may exist together. */
  readonly wakeUpUs: Micros;
  /** How long after the end of a dead holder's lease the next grant may come. */
  readonly recoveryUs: Micros;
  /** How long after a server's death waiters may wait beside a free resource. */
  readonly serverRecoveryUs: Micros;
  /** The server's keep-alive interval plus timeout: how long a silent client may go unnoticed. */
  readonly keepAliveUs: Micros;
  /** How long an offer waits for its claim. */
  readonly claimUs: Micros;
  /** How long a command that its caller gave up may still run in the store. */
  readonly commandTimeoutUs: Micros;
  /** How long an ended request_id is remembered. */
  readonly rememberedUs: Micros;
  /** How long a ticket is kept after its call has ended. */
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

/** One line per event, in milliseconds since the first of them. */
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
