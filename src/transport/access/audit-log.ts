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

/** A missing permission, a quota that the caller has reached, or a call that a busy server has refused. */
export type Refusal =
  | { readonly outcome: 'OVERLOADED' }
  | { readonly outcome: 'NOT_ALLOWED'; readonly service: string; readonly verb: Verb; readonly name: string }
  | { readonly outcome: 'QUOTA_EXCEEDED'; readonly quota: string; readonly limit: string };

/** The time between two lines of one identity for the same outcome (ms). */
const INTERVAL_MS = 1000;
/** The same for one caller that a busy server refuses. Then there are many callers, and little time for lines. */
const OVERLOADED_INTERVAL_MS = 10_000;
/** The bound of callers with a count in one interval. The refusals of further callers share one line. */
const MAX_CALLERS = 100;
const SEVERAL = 'several identities';
/** Longer names and texts are cut in the log. */
const MAX_CHARS = 512;

interface Counter {
  suppressed: number;
  /** The caller and the outcome. */
  readonly fields: object;
}

/**
 * The audit log: one line for each refusal and for each act of `audited-acts.ts`. Refusals of one identity get at most
 * one line per second, and then a line with their number; refusals by a busy server one per caller and ten seconds. Texts
 * from clients are escaped.
 */
export class AuditLog {
  private readonly refusals: SampledRefusals;
  private readonly overloads: SampledRefusals;

  constructor(
    private readonly log: Log,
    clock: Clock,
  ) {
    this.refusals = new SampledRefusals(log, clock, INTERVAL_MS);
    this.overloads = new SampledRefusals(log, clock, OVERLOADED_INTERVAL_MS);
  }

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
    const { identity } = caller;
    if (outcome === 'OVERLOADED') {
      const address = caller.peer.replace(/:\d+$/, '');
      const counted = () => ({ identity: shown(identity), peer: address, outcome });
      this.overloads.add(`${address} ${identity}`, counted, () => this.write(caller, refusal));
    } else {
      const counted = () => ({ identity: shown(identity), outcome });
      this.refusals.add(`${outcome} ${identity}`, counted, () => this.write(caller, refusal));
    }
  }

  close(): void {
    this.refusals.close();
    this.overloads.close();
  }

  private write(caller: AuditedCaller, refusal: Refusal): void {
    const facts = 'name' in refusal ? { ...refusal, name: shown(refusal.name) } : refusal;
    this.log.warn({ ...callerFields(caller), action: 'refused', ...facts }, 'a caller was refused');
  }
}

/** Writes the first refusal of each caller in an interval, and counts the others. */
class SampledRefusals {
  private readonly recent = new Map<string, Counter>();
  private timer: Timer | undefined;

  constructor(
    private readonly log: Log,
    private readonly clock: Clock,
    private readonly intervalMs: number,
  ) {}

  /** @param counted the fields of the line with the number of further refusals */
  add(caller: string, counted: () => { readonly outcome: string }, write: () => void): void {
    const known = this.recent.has(caller) || this.recent.size < MAX_CALLERS;
    const key = known ? caller : '';
    const counter = this.recent.get(key);
    if (counter !== undefined) {
      counter.suppressed += 1;
      return;
    }
    const fields = known ? counted() : { identity: SEVERAL, outcome: counted().outcome };
    this.recent.set(key, { suppressed: 0, fields });
    this.timer ??= this.clock.after(this.intervalMs, () => this.report());
    write();
  }

  close(): void {
    this.timer?.cancel();
    this.timer = undefined;
    this.writeSuppressed();
  }

  private report(): void {
    this.timer = undefined;
    this.writeSuppressed();
    if (this.recent.size > 0) this.timer = this.clock.after(this.intervalMs, () => this.report());
  }

  /** A caller without refusals since the last report is forgotten. */
  private writeSuppressed(): void {
    for (const [key, counter] of this.recent) {
      const { suppressed, fields } = counter;
      if (suppressed === 0) {
        this.recent.delete(key);
        continue;
      }
      counter.suppressed = 0;
      this.log.warn({ action: 'refused', ...fields, suppressed }, 'more calls were refused');
    }
  }
}

function callerFields(caller: AuditedCaller) {
  const { identity, peer, method } = caller;
  return { identity: shown(identity), peer, method, ...caller.trace };
}

function shown(text: string): string {
  return escapeText(text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}…` : text);
}
