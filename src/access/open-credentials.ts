import type { Clock, Timer } from '../base/clock';
import { inTurns } from '../flow/turns';
import type { Caller } from './caller';
import { Place } from '../flow/bounded-lists';

/** A call that ends when the credential of its caller ends. */
export interface EndableCall {
  /** Called at most once, and not after `close` of the call's place. */
  credentialEnded(): void;
}

/** The place of an open call in the list of its caller. */
export interface OpenCall {
  /** The call has ended. Safe to call twice. */
  close(): void;
}

/** Ends of credentials within one such span are handled together (ms), so a call may live this much longer. */
const SPAN_MS = 100;
/** Calls that are ended in one turn of the event loop. */
const ENDS_PER_TURN = 50;
/** How often callers without open calls are forgotten (ms). */
const SWEEP_MS = 10_000;

interface OpenCaller {
  readonly caller: Caller;
  /** The head of the list of open calls. */
  readonly calls: Place<EndableCall>;
  span: number;
}

/**
 * The open calls of each caller. Ends the calls of a caller when the credential ends. One timer serves all callers. A
 * caller without open calls is forgotten within 10 s.
 */
export class OpenCredentials {
  private readonly callers = new Map<Caller, OpenCaller>();
  private readonly spans = new Map<number, Set<OpenCaller>>();
  private timer: { readonly span: number; readonly timer: Timer } | undefined;
  private sweepTimer: Timer | undefined;
  /** The calls that are to be ended, in lists of one caller each. */
  private readonly ending: Place<EndableCall>[] = [];

  constructor(private readonly clock: Clock) {}

  /** The number of callers that are kept. */
  get size(): number {
    return this.callers.size;
  }

  add(caller: Caller, call: EndableCall): OpenCall {
    return caller.parts === undefined ? this.addTo(caller, call) : this.addToEach(caller.parts, call);
  }

  /** The end of the caller's credential has changed. */
  changed(caller: Caller): void {
    const open = this.callers.get(caller);
    if (open === undefined) return;
    this.leave(open);
    open.span = spanOf(caller);
    this.enter(open);
  }

  close(): void {
    this.timer?.timer.cancel();
    this.sweepTimer?.cancel();
    this.timer = this.sweepTimer = undefined;
    this.callers.clear();
    this.spans.clear();
    this.ending.length = 0;
  }

  private addToEach(callers: readonly Caller[], call: EndableCall): OpenCall {
    const places: OpenCall[] = [];
    const close = (): void => places.forEach((place) => place.close());
    const credentialEnded = (): void => {
      close();
      call.credentialEnded();
    };
    for (const caller of callers) places.push(this.addTo(caller, { credentialEnded }));
    return { close };
  }

  private addTo(caller: Caller, call: EndableCall): OpenCall {
    let open = this.callers.get(caller);
    if (open === undefined) {
      open = { caller, calls: new Place<EndableCall>(undefined), span: spanOf(caller) };
      this.callers.set(caller, open);
      this.enter(open);
      this.sweepTimer ??= this.clock.after(SWEEP_MS, () => this.sweep());
    }
    return open.calls.append(call);
  }

  private enter(open: OpenCaller): void {
    if (open.span === Infinity) return;
    const others = this.spans.get(open.span);
    if (others === undefined) this.spans.set(open.span, new Set([open]));
    else others.add(open);
    if (this.timer === undefined || open.span < this.timer.span) this.arm(open.span);
  }

  private leave(open: OpenCaller): void {
    const others = this.spans.get(open.span);
    others?.delete(open);
    // The timer stays. When the timer fires, the earliest end is looked up again.
    if (others?.size === 0) this.spans.delete(open.span);
  }

  private sweep(): void {
    this.sweepTimer = undefined;
    for (const open of this.callers.values()) {
      if (!open.calls.isAlone) continue;
      this.callers.delete(open.caller);
      this.leave(open);
    }
    if (this.callers.size > 0) this.sweepTimer = this.clock.after(SWEEP_MS, () => this.sweep());
  }

  private arm(span: number): void {
    this.timer?.timer.cancel();
    const delayMs = span * SPAN_MS - this.clock.now();
    this.timer = { span, timer: this.clock.after(delayMs, () => this.endDue()) };
  }

  private endDue(): void {
    this.timer = undefined;
    const now = this.clock.now();
    let next = Infinity;
    for (const [span, callers] of this.spans) {
      if (span * SPAN_MS > now) {
        next = Math.min(next, span);
        continue;
      }
      this.spans.delete(span);
      for (const open of callers) {
        this.callers.delete(open.caller);
        this.ending.push(open.calls);
      }
    }
    if (next !== Infinity) this.arm(next);
    inTurns(this.takeEnding(), ENDS_PER_TURN, (call) => call.credentialEnded());
  }

  private *takeEnding(): Generator<EndableCall> {
    for (let [calls] = this.ending; calls !== undefined; [calls] = this.ending) {
      const first = calls.next;
      if (first.call === undefined) {
        this.ending.shift();
        continue;
      }
      first.close();
      yield first.call;
    }
  }
}

function spanOf({ expiresAt }: Caller): number {
  return expiresAt === Infinity ? Infinity : Math.ceil(Math.max(expiresAt, 0) / SPAN_MS);
}
