import type { Clock } from '../../base/clock';
import { HoldfastError } from '../../base/errors';
import { FairQueue, type Priority } from '../../flow/fair-queue';
import { AnonymousCalls } from './anonymous-calls';
import type { Arrival, CallSource } from './arrival';
import { ReadingTurns } from './reading-turns';

export interface CallGateOptions {
  readonly clock: Clock;
  /** Whether the server knows the caller already. Default: the server asks for no credentials. */
  readonly isProven?: ((call: Arrival) => boolean) | undefined;
  /** Called for each call that arrives. */
  readonly onArrived?: ((call: Arrival) => void) | undefined;
  /** Called for each call that is answered before it begins. */
  readonly onRefused?: ((call: Arrival, error: HoldfastError) => void) | undefined;
  /** Proves the caller. Throws or rejects with the error for the client. Undefined: as with `isProven`. */
  readonly prove?: ((call: Arrival) => unknown) | undefined;
  /** The number of begun calls whose requests have not arrived. Default: 0. */
  readonly unfinishedCount?: (() => number) | undefined;
}

/** How many calls may begin in one turn of the event loop while no call waits. */
const CALLS_PER_QUIET_TURN = 32;
/** How many calls begin, and how many are refused, in one turn of the event loop while calls wait. */
const CALLS_PER_BUSY_TURN = 16;
/** The longest time that a call waits at the gate (ms). Renewals and releases may wait longer. */
const LONGEST_WAIT_MS = 500;
/** The bound of unanswered unary calls of one connection. */
export const MAX_UNARY_CALLS = 1000;
/**
 * The bound of unanswered renewals and releases of one connection. This bound limits only memory, so the bound is
 * higher.
 */
export const MAX_URGENT_CALLS = 10_000;
/** If a connection has this number of waiting calls, its health checks are urgent only if their caller is proven. */
const MOST_BEFORE_PROBE = 8;
/**
 * While more requests than this have not arrived, the gate proves the caller of each call before the call begins, because
 * grpc-js asks for the credential only after the request: a flood without credentials would hold 10 kB for each call.
 */
const MANY_UNFINISHED = 256;
/** The bound of refused calls whose answers the client has not taken. An honest client takes them within milliseconds. */
const MOST_UNTAKEN_OF_CONNECTION = 512;
/** The same for all connections. Above this bound the connection with the most is cut. */
const MOST_UNTAKEN = 2048;
/** The pause between two turns while calls wait (ms). */
const PAUSE_MS = 1;
/** The longest time for the calls that arrive in one turn of the event loop (ms). */
const READING_MS = 4;
const AVERAGE_WEIGHT = 1 / 16;

const BUSY = new HoldfastError(
  'OVERLOADED',
  'this server has too much work to answer in time: nothing was done; try again later, with fewer calls at a time',
);
/** The bounds of the unanswered calls of one connection. */
const BOUNDS = {
  unaryCount: bound('unary calls', MAX_UNARY_CALLS),
  urgentCount: bound('renewals and releases', MAX_URGENT_CALLS),
};

function bound(calls: string, limit: number): { limit: number; refusal: HoldfastError } {
  const refusal = new HoldfastError(
    'OVERLOADED',
    `this connection has ${limit} unanswered ${calls}, the limit: nothing was done; wait for answers before the next call, or use more connections`,
    { metadata: { limit: String(limit) } },
  );
  return { limit, refusal };
}

interface RefusedCall {
  readonly call: Arrival;
  readonly error: HoldfastError;
}

/**
 * Lets calls begin in an order that is fair to all connections: few calls in each turn of the event loop, urgent calls
 * first, and one call of each connection in turn. So a connection with thousands of calls delays its own calls, and
 * neither the calls of others nor the timers of renewals. A call that would wait too long gets OVERLOADED, and so
 * does a call above the bounds of its connection. The gate does not know by which door a call comes in.
 */
export class CallGate {
  private readonly queues: Readonly<Record<Priority, FairQueue<Arrival>>> = {
    high: new FairQueue(),
    normal: new FairQueue(),
    low: new FairQueue(),
  };
  /** Calls that do not begin. They get their answers in later turns. */
  private readonly refused = new FairQueue<RefusedCall>();
  private readonly reading = new ReadingTurns();
  private readonly anonymous = new AnonymousCalls();
  /** The connections with answers to refused calls that their clients have not taken. */
  private readonly untaken = new Set<CallSource>();
  private untakenCount = 0;
  private waitingCount = 0;
  private isTurnDue = false;
  /** The arrival of the first call in this turn of the event loop. */
  private firstArrivalAt: number | undefined;
  /** The calls that have begun in this turn. */
  private begunCount = 0;
  private lastTurnAt: number | undefined;
  /** The average time from one begun call to the next while calls wait, with all other work of the event loop (ms). */
  private spacingMs = 0;
  private pickCount = 0;

  constructor(private readonly options: CallGateOptions) {}

  /** Must be called before the first call of a connection. */
  connected(source: CallSource): void {
    this.reading.add(source);
  }

  /** Must be called when the client has closed the connection, before the calls of the connection end. */
  disconnected(source: CallSource): void {
    this.reading.ended(source);
    this.turnSoon();
  }

  /** The connection is closed. */
  closed(source: CallSource): void {
    this.reading.delete(source);
  }

  /** Lets the call begin, now or later, or answers the call with OVERLOADED. */
  arrive(call: Arrival): void {
    this.options.onArrived?.(call);
    call.arrivedAt = this.options.clock.now();
    this.count(call);
    if (this.waitingCount === 0 && this.begunCount < CALLS_PER_QUIET_TURN) this.begin(call, false);
    else this.wait(call);
  }

  private count({ source, arrivedAt }: Arrival): void {
    this.turnSoon();
    this.reading.delivered(source);
    this.firstArrivalAt ??= arrivedAt;
    if (arrivedAt - this.firstArrivalAt > READING_MS) this.reading.pause();
  }

  /** Node runs immediates after it has read all sockets, once in each turn of the event loop. */
  private turnSoon(): void {
    if (this.isTurnDue) return;
    this.isTurnDue = true;
    setImmediate(() => this.turn());
  }

  private wait(call: Arrival): void {
    call.priority = this.priorityOf(call);
    call.hold();
    if (call.priority !== 'high' && this.expectedWaitMs(call) > longestWaitMs(call)) {
      this.refuse(call, BUSY);
    } else {
      this.reading.hold(call.source);
      this.waitingCount += 1;
      this.queues[call.priority].push(call.source, call);
    }
  }

  /**
   * A call is urgent only if its caller is proven. Otherwise a flood of calls without a credential would be served
   * first.
   */
  private priorityOf(call: Arrival): Priority {
    const { priority, isProbe } = call.kind;
    if (priority === 'low' || (isProbe === true && call.source.heldCount < MOST_BEFORE_PROBE))
      return priority;
    return (this.options.isProven?.(call) ?? true) ? priority : 'low';
  }

  /** Node 20 may crash if a stream is closed while its connection is read, so the call is answered in a later turn. */
  private refuse(call: Arrival, error: HoldfastError): void {
    this.options.onRefused?.(call, error);
    call.hold();
    this.reading.hold(call.source);
    this.refused.push(call.source, { call, error });
    this.turnSoon();
  }

  private expectedWaitMs({ priority, source }: Arrival): number {
    const ahead = this.queues.high.size + this.queues[priority].ahead(source);
    return ahead * this.spacingMs;
  }

  private turn(): void {
    const now = this.options.clock.now();
    this.measure(now);
    this.begunCount = 0;
    while (this.waitingCount > 0 && this.begunCount < CALLS_PER_BUSY_TURN) this.beginNext();
    for (let count = 0; count < CALLS_PER_BUSY_TURN && this.refused.size > 0; count += 1) this.refuseNext();
    this.reading.next(this.firstArrivalAt ?? now, now);
    this.firstArrivalAt = undefined;
    // Set at the end of the turn, so that a call that this turn refuses does not ask for a second turn.
    this.isTurnDue = false;
    if (this.waitingCount + this.refused.size > 0 || this.reading.isPaused) this.turnLater(now);
  }

  /** The pause leaves time for the calls of connections with few calls, and for other processes of the machine. */
  private turnLater(now: number): void {
    if (!this.reading.mustProtect(now)) return this.turnSoon();
    this.isTurnDue = true;
    setTimeout(() => this.turn(), PAUSE_MS);
  }

  private measure(now: number): void {
    if (this.lastTurnAt !== undefined && this.begunCount > 0) {
      const spacingMs = (now - this.lastTurnAt) / this.begunCount;
      this.spacingMs += (spacingMs - this.spacingMs) * AVERAGE_WEIGHT;
    }
    this.lastTurnAt = this.waitingCount > 0 ? now : undefined;
  }

  /**
   * Urgent calls come first. But of eight calls, one is taken from the low and one from the normal priority, so no
   * call waits for ever.
   */
  private beginNext(): void {
    const { high, normal, low } = this.queues;
    this.pickCount = (this.pickCount + 1) % 8;
    let call: Arrival | undefined;
    if (this.pickCount === 0) call = low.shift() ?? normal.shift() ?? high.shift();
    else if (this.pickCount === 4) call = normal.shift() ?? high.shift() ?? low.shift();
    else call = high.shift() ?? normal.shift() ?? low.shift();
    if (call !== undefined) this.endWait(call);
  }

  private refuseNext(): void {
    const next = this.refused.shift();
    if (next === undefined) return;
    const { call, error } = next;
    const { source } = call;
    this.reading.release(source);
    call.refuse(error);
    // The call ends when the answer is written. It stays open while the client does not read.
    if (call.isClosed) return;
    this.reading.answered(source);
    this.untaken.add(source);
    this.untakenCount += 1;
    call.onClose(() => {
      this.reading.taken(source);
      if (source.untakenCount === 0) this.untaken.delete(source);
      this.untakenCount -= 1;
    });
    if (source.untakenCount > MOST_UNTAKEN_OF_CONNECTION) source.cut();
    else if (this.untakenCount > MOST_UNTAKEN) this.leastTaking(source).cut();
  }

  private leastTaking(source: CallSource): CallSource {
    let least = source;
    for (const one of this.untaken) if (one.untakenCount > least.untakenCount) least = one;
    return least;
  }

  private endWait(call: Arrival): void {
    this.waitingCount -= 1;
    this.reading.release(call.source);
    if (call.isClosed) return; // reset by its client
    const waitedMs = this.options.clock.now() - call.arrivedAt;
    if (call.priority !== 'high' && waitedMs > longestWaitMs(call)) return this.refuse(call, BUSY);
    this.begin(call, true);
  }

  private begin(call: Arrival, hasWaited: boolean): void {
    const { source, kind, priority } = call;
    const { prove } = this.options;
    this.begunCount += 1;
    if (kind.isOpen === true) {
      if (!this.countAnonymous(call)) return;
    } else if (kind.unary) {
      const counted = priority === 'high' ? 'urgentCount' : 'unaryCount';
      const { limit, refusal } = BOUNDS[counted];
      if (source[counted] >= limit) return this.refuse(call, refusal);
      source[counted] += 1;
      call.onClose(() => (source[counted] -= 1));
    }
    if (prove !== undefined && (kind.bytes !== undefined || this.mustBeProven(call)))
      void this.serveProven(call, prove);
    else call.serve(hasWaited ? this.options.clock.now() - call.arrivedAt : 0);
  }

  private mustBeProven(call: Arrival): boolean {
    const { unfinishedCount, isProven } = this.options;
    if (call.kind.isOpen === true || (unfinishedCount?.() ?? 0) < MANY_UNFINISHED) return false;
    return isProven?.(call) === false;
  }

  /** Counts a call without a credential until its end. Refuses the call and returns false if there are too many. */
  private countAnonymous(call: Arrival): boolean {
    const { source, kind } = call;
    const refusal = this.anonymous.begin(source, kind.unary);
    if (refusal !== undefined) this.refuse(call, refusal);
    else call.onClose(() => this.anonymous.end(source, kind.unary));
    return refusal === undefined;
  }

  /** Flow control holds the request back until the caller is proven. */
  private async serveProven(call: Arrival, prove: NonNullable<CallGateOptions['prove']>): Promise<void> {
    call.hold();
    try {
      const proof = prove(call);
      if (proof instanceof Promise) await proof;
    } catch (error) {
      // The handler reports all other errors.
      if (error instanceof HoldfastError) return this.refuse(call, error);
    }
    if (!call.isClosed) call.serve(this.options.clock.now() - call.arrivedAt);
  }
}

/** The longest wait of a call (ms). If the client gives up earlier, the wait ends with the client's time limit. */
function longestWaitMs(call: Arrival): number {
  return Math.min(LONGEST_WAIT_MS, call.timeoutMs ?? Infinity);
}
