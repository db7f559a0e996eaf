import type { Clock, Timer } from '../../engine/clock';
import { escapeText } from '../../wire/escape-text';
import type { CallTrace } from '../grpc/call-trace';
import type { Log } from '../grpc/log';
import type { AuditedAct } from './audited-acts';
import type { Verb } from './verbs';

/** Who called. */
export interface AuditedCaller {
  /** Empty: the server does not authenticate callers. */
  readonly identity: string;
  /** The address of the client. */
  readonly peer: string;
  readonly method: string;
  /** Read only when a line is written. */
  readonly trace?: CallTrace | undefined;
}

/** A missing permission, or a quota that the caller has reached. */
export type Refusal =
  | { readonly outcome: 'NOT_ALLOWED'; readonly service: string; readonly verb: Verb; readonly name: string }
  | { readonly outcome: 'QUOTA_EXCEEDED'; readonly quota: string; readonly limit: string };

/** The time between two lines of one identity for the same outcome (ms). */
const INTERVAL_MS = 1000;
/** The bound of identities with a count. The refusals of further identities share one line. */
const MAX_IDENTITIES = 100;
const SEVERAL = 'several identities';
/** Longer names and texts are cut in the log. */
const MAX_CHARS = 512;

interface Counter {
  suppressed: number;
  readonly identity: string;
  readonly outcome: string;
}

/**
 * The audit log: one line for each refusal and for each act of `audited-acts.ts`. Refusals of one identity get at most
 * one line per second, and then a line with their number. Texts from clients are escaped.
 */
export class AuditLog {
  private readonly recent = new Map<string, Counter>();
  private timer: Timer | undefined;

  constructor(
    private readonly log: Log,
    private readonly clock: Clock,
  ) {}

  act(caller: AuditedCaller, { action, name, requestReason, details }: AuditedAct, outcome: string): void {
    this.log.info(
      {
        ...callerFields(caller),
        action,
        name: shown(name),
        ...details,
        ...(requestReason !== undefined && { requestReason: shown(requestReason) }),
        outcome,
      },
      'an act of a caller',
    );
  }

  refused(caller: AuditedCaller, refusal: Refusal): void {
    const { outcome } = refusal;
    const known = this.recent.has(keyOf(caller, outcome)) || this.recent.size < MAX_IDENTITIES;
    const key = known ? keyOf(caller, outcome) : '';
    const counter = this.recent.get(key);
    if (counter !== undefined) {
      counter.suppressed += 1;
      return;
    }
    this.recent.set(key, { suppressed: 0, identity: known ? shown(caller.identity) : SEVERAL, outcome });
    this.timer ??= this.clock.after(INTERVAL_MS, () => this.reportSuppressed());
    const facts = 'name' in refusal ? { ...refusal, name: shown(refusal.name) } : refusal;
    this.log.warn({ ...callerFields(caller), action: 'refused', ...facts }, 'a caller was refused');
  }

  close(): void {
    this.timer?.cancel();
    this.timer = undefined;
    this.writeSuppressed();
  }

  private reportSuppressed(): void {
    this.timer = undefined;
    this.writeSuppressed();
    if (this.recent.size > 0) this.timer = this.clock.after(INTERVAL_MS, () => this.reportSuppressed());
  }

  /** An identity without refusals since the last report is forgotten. */
  private writeSuppressed(): void {
    for (const [key, counter] of this.recent) {
      const { suppressed, identity, outcome } = counter;
      if (suppressed === 0) {
        this.recent.delete(key);
        continue;
      }
      counter.suppressed = 0;
      this.log.warn({ identity, action: 'refused', outcome, suppressed }, 'more calls were refused');
    }
  }
}

function keyOf({ identity }: AuditedCaller, outcome: string): string {
  return `${outcome} ${identity}`;
}

function callerFields(caller: AuditedCaller) {
  const { identity, peer, method } = caller;
  return { identity: shown(identity), peer, method, ...caller.trace };
}

function shown(text: string): string {
  return escapeText(text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}…` : text);
}
