import type { Http2Session, IncomingHttpHeaders, OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { Clock } from '../../base/clock';
import { HoldfastError } from '../../base/errors';
import { networkOf } from '../../base/callers';
import { FairQueue, type Priority } from '../../flow/fair-queue';
import { answer, refusalHeaders, surviveErrors } from '../call-errors';
import { AnonymousCalls, type AnonymousSource } from './anonymous-calls';
import type { ServeStream } from './grpc-js';
import { Reader, ReadingTurns } from './reading-turns';

/** grpc-js computes timeouts in 32 bits. A timeout above 24.8 days overflows, and the call ends immediately. */
export const LONGEST_TIMEOUT_DAYS = 24;
const LONGEST_TIMEOUT_SECONDS = LONGEST_TIMEOUT_DAYS * 86_400;
const MS_OF_UNIT: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};
/** The header has at most eight digits. */
const LARGEST_AMOUNT = 99_999_999;

/** The time within which the client wants its answer (ms). Undefined: the header `grpc-timeout` is absent or invalid. */
export function timeoutMs(headers: IncomingHttpHeaders): number | undefined {
  const timeout = headers['grpc-timeout'];
  if (typeof timeout !== 'string') return undefined;
  const perUnit = MS_OF_UNIT[timeout.charAt(timeout.length - 1)];
  if (perUnit === undefined) return undefined;
  const amount = Number.parseInt(timeout, 10);
  return Number.isNaN(amount) ? undefined : amount * perUnit;
}

/** Shortens a timeout that is too long for grpc-js. */
export function clampTimeout(headers: IncomingHttpHeaders): void {
  const ms = timeoutMs(headers);
  if (ms !== undefined && ms > LONGEST_TIMEOUT_SECONDS * 1000) {
    headers['grpc-timeout'] = `${LONGEST_TIMEOUT_SECONDS}S`;
  }
}

/** Subtracts the time that a call has waited from its timeout. A timeout of more than a day is not changed. */
export function shortenTimeout(headers: IncomingHttpHeaders, waitedMs: number): void {
  const ms = timeoutMs(headers);
  if (ms === undefined || ms > LARGEST_AMOUNT) return;
  headers['grpc-timeout'] = `${Math.max(1, Math.floor(ms - waitedMs))}m`;
}

/** The properties of a method that the gate needs. */
export interface CallKind {
  readonly priority: Priority;
  readonly unary: boolean;
  /** Whether the request may be so large that its caller must be proven before the request is received. */
  readonly isLarge?: boolean;
  /** Whether the call is a health check, which is urgent without a credential. */
  readonly isProbe?: boolean;
  /** Whether the call needs no credential. */
  readonly isOpen?: boolean;
}

/** A method that the server does not have gets its error with low priority. */
export const UNKNOWN_CALL: CallKind = { priority: 'low', unary: true };

export interface CallGateOptions {
  readonly clock: Clock;
  /** The kind of a call by its path. */
  readonly kindOf: (path: string) => CallKind;
  /** Whether the server knows the caller already. Default: the server asks for no credentials. */
  readonly isProven?: ((headers: IncomingHttpHeaders, session: Http2Session) => boolean) | undefined;
  /** Called for each call that arrives. */
  readonly onArrived?: ((path: string, session: Http2Session) => void) | undefined;
  /** Called for each call that is answered before it begins. */
  readonly onRefused?:
    ((headers: IncomingHttpHeaders, session: Http2Session, answer: OutgoingHttpHeaders) => void) | undefined;
  /** Proves the caller. Throws or rejects with the error for the client. Undefined: as with `isProven`. */
  readonly prove?: ((headers: IncomingHttpHeaders, session: Http2Session) => unknown) | undefined;
  /** The number of begun calls whose requests have not arrived. Default: 0. */
  readonly unfinishedCount?: (() => number) | undefined;
  /** Called when the client of a connection leaves too many answers to refused calls. Must cut the connection. */
  readonly onUntaken?: ((session: Http2Session) => void) | undefined;
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

const BUSY = refusalHeaders(
  new HoldfastError(
    'OVERLOADED',
    'this server has too much work to answer in time: nothing was done; try again later, with fewer calls at a time',
  ),
);
/** The bounds of the unanswered calls of one connection. */
const BOUNDS = {
  unaryCount: bound('unary calls', MAX_UNARY_CALLS),
  urgentCount: bound('renewals and releases', MAX_URGENT_CALLS),
};

function bound(calls: string, limit: number): { limit: number; refusal: OutgoingHttpHeaders } {
  const error = new HoldfastError(
    'OVERLOADED',
    `this connection has ${limit} unanswered ${calls}, the limit: nothing was done; wait for answers before the next call, or use more connections`,
    { metadata: { limit: String(limit) } },
  );
  return { limit, refusal: refusalHeaders(error) };
}

/** The unanswered calls of one connection. */
class Connection extends Reader implements AnonymousSource {
  unaryCount = 0;
  urgentCount = 0;
  anonymousCount = 0;

  constructor(
    session: Http2Session,
    readonly network: string,
  ) {
    super(session);
  }
}

interface ArrivedCall {
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
  readonly serve: ServeStream;
  readonly kind: CallKind;
  readonly connection: Connection;
  readonly arrivedAt: number;
}

interface RefusedCall extends Pick<ArrivedCall, 'stream' | 'connection'> {
  readonly answer: OutgoingHttpHeaders;
}

/**
 * Lets calls begin in an order that is fair to all connections: few calls in each turn of the event loop, urgent calls
 * first, and one call of each connection in turn. So a connection with thousands of calls delays its own calls, and
 * neither the calls of others nor the timers of renewals. A call that would wait too long gets OVERLOADED.
 */
export class CallGate {
  private readonly queues: Readonly<Record<Priority, FairQueue<ArrivedCall>>> = {
    high: new FairQueue(),
    normal: new FairQueue(),
    low: new FairQueue(),
  };
  private readonly connections = new WeakMap<object, Connection>();
  /** Calls that do not begin. They get their answers in later turns. */
  private readonly refused = new FairQueue<RefusedCall>();
  private readonly reading = new ReadingTurns();
  private readonly anonymous = new AnonymousCalls();
  /** The connections with answers to refused calls that their clients have not taken. */
  private readonly untaken = new Set<Connection>();
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

  /** Must be called before the first call of a connection. `address` is that of the client. */
  connected(session: Http2Session, address: string): void {
    const connection = new Connection(session, networkOf(address));
    this.connections.set(session, connection);
    this.reading.add(connection);
    session.once('close', () => this.reading.delete(connection));
  }

  /** Must be called when the client has closed the connection, before the calls of the connection end. */
  disconnected(session: Http2Session): void {
    const connection = this.connections.get(session);
    if (connection === undefined) return;
    this.reading.ended(connection);
    this.turnSoon();
  }

  /** Passes the call to `serve`, now or later, or answers the call with OVERLOADED. */
  arrive(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, serve: ServeStream): void {
    const connection = stream.session && this.connections.get(stream.session);
    if (connection === undefined) return surviveErrors(stream); // the connection was lost in the meantime
    clampTimeout(headers);
    const path = String(headers[':path']);
    const kind = this.options.kindOf(path);
    this.options.onArrived?.(path, connection.session);
    const arrivedAt = this.options.clock.now();
    const call = { stream, headers, serve, kind, connection, arrivedAt };
    this.count(call);
    if (this.waitingCount === 0 && this.begunCount < CALLS_PER_QUIET_TURN) this.begin(call);
    else this.wait(call);
  }

  private count({ connection, arrivedAt }: ArrivedCall): void {
    this.turnSoon();
    this.reading.delivered(connection);
    this.firstArrivalAt ??= arrivedAt;
    if (arrivedAt - this.firstArrivalAt > READING_MS) this.reading.pause();
  }

  /** Node runs immediates after it has read all sockets, once in each turn of the event loop. */
  private turnSoon(): void {
    if (this.isTurnDue) return;
    this.isTurnDue = true;
    setImmediate(() => this.turn());
  }

  private wait(arrived: ArrivedCall): void {
    const priority = this.priorityOf(arrived);
    const call =
      priority === arrived.kind.priority ? arrived : { ...arrived, kind: { ...arrived.kind, priority } };
    const { stream, headers, kind, connection } = call;
    surviveErrors(stream);
    if (kind.priority !== 'high' && this.expectedWaitMs(call) > longestWaitMs(headers)) {
      this.refuse(call, BUSY);
    } else {
      this.reading.hold(connection);
      this.waitingCount += 1;
      this.queues[kind.priority].push(connection, call);
    }
  }

  /**
   * A call is urgent only if its caller is proven. Otherwise a flood of calls without a credential would be served
   * first.
   */
  private priorityOf({ kind, headers, connection }: ArrivedCall): Priority {
    const { priority, isProbe } = kind;
    if (priority === 'low' || (isProbe === true && connection.heldCount < MOST_BEFORE_PROBE)) return priority;
    return (this.options.isProven?.(headers, connection.session) ?? true) ? priority : 'low';
  }

  /** Node 20 may crash if a stream is closed while its connection is read, so the call is answered in a later turn. */
  private refuse({ stream, headers, connection }: ArrivedCall, answer: OutgoingHttpHeaders): void {
    this.options.onRefused?.(headers, connection.session, answer);
    surviveErrors(stream);
    this.reading.hold(connection);
    this.refused.push(connection, { stream, connection, answer });
    this.turnSoon();
  }

  private expectedWaitMs({ kind, connection }: ArrivedCall): number {
    const ahead = this.queues.high.size + this.queues[kind.priority].ahead(connection);
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
    let call: ArrivedCall | undefined;
    if (this.pickCount === 0) call = low.shift() ?? normal.shift() ?? high.shift();
    else if (this.pickCount === 4) call = normal.shift() ?? high.shift() ?? low.shift();
    else call = high.shift() ?? normal.shift() ?? low.shift();
    if (call !== undefined) this.endWait(call);
  }

  private refuseNext(): void {
    const call = this.refused.shift();
    if (call === undefined) return;
    const { stream, connection } = call;
    this.reading.release(connection);
    answer(stream, call.answer);
    // The stream closes when the answer is written. It stays open while the client does not read.
    if (stream.closed || stream.destroyed) return;
    this.reading.answered(connection);
    this.untaken.add(connection);
    this.untakenCount += 1;
    stream.once('close', () => {
      this.reading.taken(connection);
      if (connection.untakenCount === 0) this.untaken.delete(connection);
      this.untakenCount -= 1;
    });
    if (connection.untakenCount > MOST_UNTAKEN_OF_CONNECTION) this.options.onUntaken?.(connection.session);
    else if (this.untakenCount > MOST_UNTAKEN) this.options.onUntaken?.(this.leastTaking(connection).session);
  }

  private leastTaking(connection: Connection): Connection {
    let least = connection;
    for (const one of this.untaken) if (one.untakenCount > least.untakenCount) least = one;
    return least;
  }

  private endWait(call: ArrivedCall): void {
    const { stream, headers, kind, connection, arrivedAt } = call;
    this.waitingCount -= 1;
    this.reading.release(connection);
    if (stream.closed || stream.destroyed) return; // reset by its client
    const waitedMs = this.options.clock.now() - arrivedAt;
    if (kind.priority !== 'high' && waitedMs > longestWaitMs(headers)) return this.refuse(call, BUSY);
    shortenTimeout(headers, waitedMs);
    // The stream of a call without a message may end while the call waits. grpc-js must see this end too.
    const hasEnded = stream.readableEnded;
    this.begin(call);
    if (hasEnded) stream.emit('end');
  }

  private begin(call: ArrivedCall): void {
    const { stream, headers, serve, connection } = call;
    const { priority, unary, isOpen, isLarge } = call.kind;
    const { prove } = this.options;
    this.begunCount += 1;
    if (isOpen === true) {
      if (!this.countAnonymous(call)) return;
    } else if (unary) {
      const counted = priority === 'high' ? 'urgentCount' : 'unaryCount';
      const { limit, refusal } = BOUNDS[counted];
      if (connection[counted] >= limit) return this.refuse(call, refusal);
      connection[counted] += 1;
      stream.on('close', () => (connection[counted] -= 1));
    }
    if (prove !== undefined && (isLarge === true || this.mustBeProven(call)))
      void this.serveProven(call, prove);
    else serve(stream, headers);
  }

  private mustBeProven({ kind, headers, connection }: ArrivedCall): boolean {
    const { unfinishedCount, isProven } = this.options;
    if (kind.isOpen === true || (unfinishedCount?.() ?? 0) < MANY_UNFINISHED) return false;
    return isProven?.(headers, connection.session) === false;
  }

  /** Counts a call without a credential until its end. Refuses the call and returns false if there are too many. */
  private countAnonymous(call: ArrivedCall): boolean {
    const { stream, connection, kind } = call;
    const refusal = this.anonymous.begin(connection, kind.unary);
    if (refusal !== undefined) this.refuse(call, refusal);
    else stream.once('close', () => this.anonymous.end(connection, kind.unary));
    return refusal === undefined;
  }

  /** Flow control holds the request back until the caller is proven. */
  private async serveProven(call: ArrivedCall, prove: NonNullable<CallGateOptions['prove']>): Promise<void> {
    const { stream, headers, serve, connection } = call;
    surviveErrors(stream);
    const beganAt = this.options.clock.now();
    try {
      const proof = prove(headers, connection.session);
      if (proof instanceof Promise) await proof;
    } catch (error) {
      // The handler reports all other errors.
      if (error instanceof HoldfastError) return this.refuse(call, refusalHeaders(error));
    }
    if (stream.closed || stream.destroyed) return;
    shortenTimeout(headers, this.options.clock.now() - beganAt);
    const hasEnded = stream.readableEnded;
    serve(stream, headers);
    if (hasEnded) stream.emit('end');
  }
}

/** The longest wait of a call (ms). If the client gives up earlier, the wait ends with the client's time limit. */
function longestWaitMs(headers: IncomingHttpHeaders): number {
  return Math.min(LONGEST_WAIT_MS, timeoutMs(headers) ?? Infinity);
}
