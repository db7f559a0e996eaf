import type { Clock } from '../base/clock';
import { escapeText } from '../base/text';
import { addressOf, type CallTrace, type Log, type SampleBounds, SampledLines } from '../base/log';
import type { Verb } from './policy';

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

/** An act of a call, such as a revocation. Has no lease_id, because a lease_id is a secret. */
export interface AuditedAct {
  /** What was done, in a few words that never change. */
  readonly action: string;
  readonly name: string;
  /** The reason in the request. */
  readonly requestReason?: string;
  /** The details: the new limit, or the target of a revocation. */
  readonly details?: Readonly<Record<string, string | number | boolean>>;
}

/** A missing permission, a quota that the caller has reached, or a call that a busy server has refused. */
export type Refusal =
  | { readonly outcome: 'OVERLOADED' }
  | { readonly outcome: 'NOT_ALLOWED'; readonly service: string; readonly verb: Verb; readonly name: string }
  | { readonly outcome: 'QUOTA_EXCEEDED'; readonly quota: string; readonly limit: string };

/** One line of one identity for each outcome. */
const REFUSED: SampleBounds = { intervalMs: 1000, linesOfKey: 1, keys: 100 };
/** The same for one caller that a busy server refuses. Then there are many callers, and little time for lines. */
const OVERLOADED: SampleBounds = { ...REFUSED, intervalMs: 10_000 };
const MORE = 'more calls were refused';
const SEVERAL = 'several identities';
/** Longer names and texts are cut in the log. */
const MAX_CHARS = 512;

/**
 * The audit log: one line for each refusal and for each act that the row of a call says. Refusals of one identity get at most
 * one line per second, and then a line with their number; refusals by a busy server one per caller and ten seconds. Texts
 * from clients are escaped.
 */
export class AuditLog {
  private readonly refusals: SampledLines;
  private readonly overloads: SampledLines;

  constructor(
    private readonly log: Log,
    clock: Clock,
  ) {
    this.refusals = new SampledLines(log, clock, REFUSED, MORE);
    this.overloads = new SampledLines(log, clock, OVERLOADED, MORE);
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
    const isOverload = outcome === 'OVERLOADED';
    const address = addressOf(caller.peer);
    const counted = (isSeveral: boolean): object => ({
      action: 'refused',
      identity: isSeveral ? SEVERAL : shown(identity),
      ...(isOverload && !isSeveral && { peer: address }),
      outcome,
    });
    const lines = isOverload ? this.overloads : this.refusals;
    lines.add(`${isOverload ? address : outcome} ${identity}`, counted, () => this.write(caller, refusal));
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

function callerFields(caller: AuditedCaller) {
  const { identity, peer, method } = caller;
  return { identity: shown(identity), peer, method, ...caller.trace };
}

function shown(text: string): string {
  return escapeText(text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}…` : text);
}
