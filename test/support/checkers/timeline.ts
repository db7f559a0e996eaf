import type { Ended, ExpiryObserved, History, Killed, LimitAnswered, LimitAsked, Micros } from '../history';
import { concerns, type FaultWindow, lossReachUs, type Scope } from './fault-effects';
import { type Call, type Grant, madeAfter, type Request, type Session, WHOLE_LOCK } from './timeline-types';
import type { Invariant } from './violation';

interface Change {
  readonly limit: number;
  readonly from: Micros;
  /** The instant from which the change is certainly in force or replaced by a later change. */
  readonly done: Micros;
}

/** A loss of data. The writes in the `reachUs` before `from` may be lost. */
interface Loss {
  readonly from: Micros;
  readonly to: Micros;
  readonly reachUs: Micros;
}

/**
 * The limits of a semaphore over time. A change takes effect between its request and its answer, so at any instant
 * there is a highest and a lowest limit that may be in force.
 */
export class LimitHistory {
  private readonly changes: Change[] = [];
  private readonly losses: Loss[] = [];

  static constant(limit: number): LimitHistory {
    const history = new LimitHistory();
    history.changes.push({ limit, from: -Infinity, done: -Infinity });
    return history;
  }

  add(asked: LimitAsked, answered: LimitAnswered | undefined): void {
    if (answered !== undefined && !answered.done) return;
    this.changes.push({ limit: asked.limit, from: asked.at, done: answered?.at ?? Infinity });
  }

  /** The loss may undo earlier changes, so that the limit before these changes may be in force again. */
  addLoss(loss: Loss): void {
    this.losses.push(loss);
  }

  /** The highest limit that may be in force. Infinity before the first limit is set. */
  highest(at: Micros): number {
    const limits = this.possible(at);
    return limits.length === 0 ? Infinity : Math.max(...limits);
  }

  /** The lowest limit that may be in force. 0 before the first limit is set. */
  lowest(at: Micros): number {
    const limits = this.possible(at);
    return limits.length === 0 ? 0 : Math.min(...limits);
  }

  /** The instants at which `highest` or `lowest` may change. */
  steps(): Micros[] {
    const instants = this.changes.flatMap((change) => [change.from, change.done]);
    return [...instants, ...this.losses.map(({ from }) => from)].filter(Number.isFinite);
  }

  private possible(at: Micros): number[] {
    return this.changes
      .filter((change) => change.from <= at && !this.replaced(change, at))
      .map((change) => change.limit);
  }

  private replaced(change: Change, at: Micros): boolean {
    return this.changes.some(
      (later) =>
        later !== change && later.from >= change.done && later.done < at && !this.isForgotten(later, at),
    );
  }

  private isForgotten({ from, done }: Change, at: Micros): boolean {
    return this.losses.some((loss) => loss.from <= at && from <= loss.to && done >= loss.from - loss.reachUs);
  }
}

/** The length of a slice of time, much shorter than a third of the shortest ttl. */
const SLICE: Micros = 50_000;

/**
 * The pace at which the service answered renewals and releases. Both never wait in a queue, so a slow answer shows a
 * busy machine or a stalled server or store, which delays the renewals of streams too.
 */
class Pace {
  /** The longest duration of a call in flight, for each slice of time. */
  private readonly longest = new Map<number, Micros>();
  /** The same, without calls that failed and calls of paused clients. */
  private readonly longestAnswered = new Map<number, Micros>();

  /** `wasPaused`: whether the client itself was paused between the two instants. */
  constructor(grants: readonly Grant[], wasPaused: (client: string, from: Micros, to: Micros) => boolean) {
    for (const { renewals, releases } of grants) {
      for (const { asked, answer, ended } of [...renewals, ...releases]) {
        const reply = answer ?? (ended !== null && isAnswer(ended) ? ended : null);
        if (reply !== null) {
          add(this.longest, asked.at, reply.at, reply.at - asked.at);
          if (!wasPaused(asked.client, asked.at, reply.at))
            add(this.longestAnswered, asked.at, reply.at, reply.at - asked.at);
        } else if (ended !== null) add(this.longest, asked.at, ended.at, Infinity);
      }
    }
  }

  /** True if every call in flight took less than `limit`, without a gap of `limit` between calls. */
  wasQuick(from: Micros, to: Micros, limit: Micros): boolean {
    if (limit < SLICE) return false; // The slices are too coarse to prove a gap below SLICE.
    let gap = 0;
    for (let slice = sliceOf(from); slice <= sliceOf(to); slice += 1) {
      const longest = this.longest.get(slice);
      gap = longest === undefined ? gap + SLICE : 0;
      if ((longest ?? 0) >= limit || gap >= limit) return false;
    }
    return true;
  }

  /** True if an answered call in flight took at least `limit`. A paused client does not show a slow service. */
  wasSlow(from: Micros, to: Micros, limit: Micros): boolean {
    for (let slice = sliceOf(from); slice <= sliceOf(to); slice += 1) {
      if ((this.longestAnswered.get(slice) ?? 0) >= limit) return true;
    }
    return false;
  }
}

function add(longest: Map<number, Micros>, from: Micros, to: Micros, took: Micros): void {
  for (let slice = sliceOf(from); slice <= sliceOf(to); slice += 1) {
    longest.set(slice, Math.max(longest.get(slice) ?? 0, took));
  }
}

/** True if a failure is a normal answer. Other failures show that renewals were impossible at that time. */
function isAnswer({ reason }: Ended): boolean {
  return reason === 'LEASE_NOT_HELD';
}

function sliceOf(at: Micros): number {
  return Math.floor(at / SLICE);
}

/** A history, grouped by calls, requests, grants and names. */
export class Timeline {
  readonly calls = new Map<string, Call>();
  readonly requests = new Map<string, Request>();
  readonly grants: Grant[] = [];
  readonly sessions = new Map<string, Session>();
  readonly killed = new Map<string, Killed>();
  readonly faults: FaultWindow[] = [];
  readonly limits = new Map<string, LimitHistory>();
  /** The ends of each lease as Redis showed them, in order of time. */
  readonly observations = new Map<string, ExpiryObserved[]>();
  readonly end: Micros;

  private knownPace: Pace | undefined;
  private readonly grantsByName = new Map<string, Grant[]>();
  private readonly callsByName = new Map<string, Call[]>();
  private readonly requestsByName = new Map<string, Request[]>();

  constructor(readonly history: History) {
    this.end = history.at(-1)?.at ?? 0;
  }

  /** The pace of the service. Must be read only after the last event of the history. */
  get pace(): Pace {
    return (this.knownPace ??= new Pace(this.grants, (client, from, to) => this.wasPaused(client, from, to)));
  }

  names(): string[] {
    return [...new Set([...this.callsByName.keys(), ...this.grantsByName.keys()])];
  }

  grantsOf(name: string): readonly Grant[] {
    return this.grantsByName.get(name) ?? [];
  }

  callsOf(name: string): readonly Call[] {
    return this.callsByName.get(name) ?? [];
  }

  requestsOf(name: string): readonly Request[] {
    return this.requestsByName.get(name) ?? [];
  }

  /** A name without a limit is a lock. */
  isLock(name: string): boolean {
    return !this.limits.has(name);
  }

  limitOf(name: string): LimitHistory {
    return this.limits.get(name) ?? LimitHistory.constant(WHOLE_LOCK);
  }

  /** True if a fault or its consequences excuse a violation between the two instants. */
  excused(invariant: Invariant, from: Micros, to: Micros, scope: Scope = {}): boolean {
    return this.faults.some(
      (window) =>
        window.excuses.has(invariant) &&
        window.from <= to &&
        window.shownTo >= from &&
        concerns(window, scope),
    );
  }

  /** True if the store may have lost this grant before the instant. */
  forgot(invariant: Invariant, grant: Grant, at: Micros): boolean {
    return this.faults.some(
      (window) =>
        window.excuses.has(invariant) &&
        concerns(window, { name: grant.name }) &&
        window.from <= at &&
        madeAfter(grant, grant.received) <= window.to,
    );
  }

  /** True if the store may have undone a write about this name of the one instant before the other. */
  mayHaveUndone(name: string, writtenAt: Micros, before: Micros): boolean {
    return this.faults.some((window) => {
      const reachUs = lossReachUs(window, name);
      const isReached = writtenAt >= window.from - reachUs && writtenAt <= window.shownTo;
      return reachUs > 0 && isReached && window.from <= before;
    });
  }

  private wasPaused(client: string, from: Micros, to: Micros): boolean {
    const scope: Scope = { client, kinds: ['client_stopped'] };
    return this.faults.some((window) => window.from <= to && window.to >= from && concerns(window, scope));
  }

  addCall(call: Call): void {
    this.calls.set(call.asked.call, call);
    pushTo(this.callsByName, call.asked.name, call);
  }

  addRequest(request: Request): void {
    this.requests.set(request.key, request);
    pushTo(this.requestsByName, request.name, request);
  }

  addGrant(grant: Grant): void {
    this.grants.push(grant);
    pushTo(this.grantsByName, grant.name, grant);
  }
}

export function pushTo<Value>(map: Map<string, Value[]>, key: string, value: Value): void {
  const values = map.get(key);
  if (values === undefined) map.set(key, [value]);
  else values.push(value);
}
