import type {
  Asked,
  Cancelled,
  Ended,
  ExpiryObserved,
  Granted,
  History,
  HistoryEvent,
  Killed,
  Lost,
  Micros,
  Queued,
  Released,
  ReleaseAnswered,
  ReleaseAsked,
  RenewAsked,
  Renewed,
} from '../history';
import { beliefOf, type Belief } from './belief';
import { concerns, faultWindow, lossReachUs, type FaultWindow, type Scope } from './fault-effects';
import { LimitHistory } from './limit-history';
import { Pace } from './pace';
import type { Invariant } from './violation';

/** The permits of a lock. An exclusive holder takes all of them, a shared one takes one. */
export const WHOLE_LOCK = 2 ** 30;

/** A call that may bring a grant: acquire, hold, attach. */
export interface Call {
  readonly asked: Asked;
  readonly events: HistoryEvent[];
  queued: Queued | null;
  granted: Granted | null;
  ended: Ended | null;
  cancelled: Cancelled | null;
  /** When the client stopped listening: ended, cancelled or killed. Infinity while the call is open. */
  over: Micros;
}

/** One request with all calls that carried its id. */
export interface Request {
  readonly key: string;
  readonly name: string;
  readonly weight: number;
  readonly calls: Call[];
  readonly grants: Grant[];
}

/** A renew or release call with its answer. */
export interface LeaseCall {
  readonly asked: RenewAsked | ReleaseAsked;
  answer: Renewed | ReleaseAnswered | null;
  ended: Ended | null;
}

/** One lease that was delivered at least once. */
export interface Grant {
  readonly name: string;
  readonly lease: string;
  readonly token: number;
  readonly weight: number;
  readonly requestKey: string;
  /** The first call of the request. null: not in the history, so any time before. */
  readonly asked: Asked | null;
  readonly received: Granted;
  /** All deliveries and renewals, in order of receipt. */
  readonly answers: (Granted | Renewed)[];
  readonly calls: Call[];
  readonly renewals: LeaseCall[];
  readonly releases: LeaseCall[];
  readonly ends: (Lost | Released)[];
  /** Whether an operator freed the permits while the holder may still have believed. */
  forced: boolean;
  /** null: the grant arrived after its deadline, so no client believed in it. */
  belief: Belief | null;
}

/** When a call without a grant stopped waiting: the server removes it from the queue at its wait_timeout. */
export function waitEnd(call: Call): Micros {
  return Math.min(call.over, call.asked.at + (call.asked.waitTimeoutUs ?? Infinity));
}

/** The longest TTL that the lease may have had. */
export function longestTtl(grant: Grant): Micros {
  return Math.max(
    ...grant.answers.map((answer) => answer.ttlUs),
    ...grant.renewals.map(({ asked }) => (asked.type === 'renew_asked' ? (asked.ttlUs ?? 0) : 0)),
  );
}

/**
 * The earliest instant at which an answer can have been made: after its call was sent, and at most a TTL before the end
 * in the answer. The client may have received the answer much later.
 */
export function madeAfter(grant: Grant, answer: Granted | Renewed): Micros {
  return Math.max(answer.t0, answer.t0 + answer.expireOffsetUs - longestTtl(grant));
}

/** A history, grouped by calls, requests, grants and names. */
export class Timeline {
  readonly calls = new Map<string, Call>();
  readonly requests = new Map<string, Request>();
  readonly grants: Grant[] = [];
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

  /** Call it after the whole history is read. */
  get pace(): Pace {
    return (this.knownPace ??= new Pace(this.grants));
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

  /** Whether a fault, or its consequences, excuses a violation between the two instants. */
  excused(invariant: Invariant, from: Micros, to: Micros, scope: Scope = {}): boolean {
    return this.faults.some(
      (window) =>
        window.excuses.has(invariant) &&
        window.from <= to &&
        window.shownTo >= from &&
        concerns(window, scope),
    );
  }

  /** Whether the store may have lost this grant before the instant. */
  forgot(invariant: Invariant, grant: Grant, at: Micros): boolean {
    return this.faults.some(
      (window) =>
        window.excuses.has(invariant) &&
        concerns(window, { name: grant.name }) &&
        window.from <= at &&
        madeAfter(grant, grant.received) <= window.to,
    );
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

function pushTo<Value>(map: Map<string, Value[]>, key: string, value: Value): void {
  const values = map.get(key);
  if (values === undefined) map.set(key, [value]);
  else values.push(value);
}

/** Reads a history in one pass. Events of unknown calls and leases are left out. */
export function readTimeline(history: History): Timeline {
  return new TimelineReader(history).read();
}

class TimelineReader {
  private readonly timeline: Timeline;
  private readonly grants = new Map<string, Grant>();
  private readonly byLease = new Map<string, Grant>();
  private readonly leaseCalls = new Map<string, LeaseCall>();

  constructor(private readonly history: History) {
    this.timeline = new Timeline(history);
  }

  read(): Timeline {
    this.readEnvironment();
    for (const event of this.history) {
      if ('call' in event) {
        this.timeline.calls.get(event.call)?.events.push(event);
        this.readCall(event);
      }
    }
    const { timeline } = this;
    for (const call of timeline.calls.values()) {
      call.over = Math.min(
        call.ended?.at ?? Infinity,
        call.cancelled?.at ?? Infinity,
        timeline.killed.get(call.asked.client)?.at ?? Infinity,
      );
    }
    for (const grant of timeline.grants) grant.belief = beliefOf(grant, timeline.killed);
    this.markForced();
    return timeline;
  }

  private readEnvironment(): void {
    const { timeline } = this;
    const ends = new Map(
      this.history.flatMap((event) => (event.type === 'fault_ended' ? [[event.fault, event] as const] : [])),
    );
    const answers = new Map(
      this.history.flatMap((event) =>
        event.type === 'limit_answered' ? [[event.change, event] as const] : [],
      ),
    );
    for (const event of this.history) {
      if (event.type === 'expiry_observed') pushTo(timeline.observations, event.lease, event);
      if (event.type === 'killed') timeline.killed.set(event.client, event);
      if (event.type === 'fault_started') timeline.faults.push(faultWindow(event, ends.get(event.fault)));
      if (event.type === 'limit_asked') {
        const limits = timeline.limits.get(event.name) ?? new LimitHistory();
        limits.add(event, answers.get(event.change));
        timeline.limits.set(event.name, limits);
      }
    }
    for (const [name, limits] of timeline.limits) {
      for (const window of timeline.faults) {
        const reachUs = lossReachUs(window, name);
        if (reachUs > 0) limits.addLoss({ from: window.from, to: window.to, reachUs });
      }
    }
  }

  private readCall(event: Extract<HistoryEvent, { call: string }>): void {
    const call = this.timeline.calls.get(event.call);
    const leaseCall = this.leaseCalls.get(event.call);
    switch (event.type) {
      case 'asked':
        return this.readAsked(event);
      case 'queued':
        if (call !== undefined) call.queued ??= event;
        return;
      case 'granted':
        return this.readGranted(event);
      case 'renewed':
        if (leaseCall !== undefined) leaseCall.answer = event;
        this.byLease.get(event.lease)?.answers.push(event);
        return;
      case 'renew_asked':
      case 'release_asked':
        return this.readLeaseCall(event);
      case 'release_answered':
        if (leaseCall !== undefined) leaseCall.answer = event;
        return;
      case 'lost':
      case 'released':
        this.byLease.get(event.lease)?.ends.push(event);
        return;
      case 'ended':
        if (call !== undefined) call.ended ??= event;
        if (leaseCall !== undefined) leaseCall.ended ??= event;
        return;
      case 'cancelled':
        if (call !== undefined) call.cancelled ??= event;
        return;
      case 'renewal_failed':
        return;
    }
  }

  private readAsked(asked: Asked): void {
    const call: Call = {
      asked,
      events: [asked],
      queued: null,
      granted: null,
      ended: null,
      cancelled: null,
      over: Infinity,
    };
    this.timeline.addCall(call);
    if (asked.rpc === 'attach') return;
    const key = requestKey(asked.name, asked.requestId ?? asked.call);
    const request = this.timeline.requests.get(key);
    if (request !== undefined) request.calls.push(call);
    else {
      const weight = this.weight(asked);
      this.timeline.addRequest({ key, name: asked.name, weight, calls: [call], grants: [] });
    }
  }

  private weight(asked: Asked): number {
    if (!this.timeline.isLock(asked.name)) return asked.permitCount;
    return asked.mode === 'shared' ? 1 : WHOLE_LOCK;
  }

  private readLeaseCall(asked: RenewAsked | ReleaseAsked): void {
    const leaseCall: LeaseCall = { asked, answer: null, ended: null };
    this.leaseCalls.set(asked.call, leaseCall);
    const grant = this.byLease.get(asked.lease);
    if (asked.type === 'renew_asked') grant?.renewals.push(leaseCall);
    else grant?.releases.push(leaseCall);
  }

  private readGranted(event: Granted): void {
    const call = this.timeline.calls.get(event.call);
    if (call === undefined) return;
    call.granted ??= event;
    const identity = JSON.stringify([event.name, event.lease, event.token]);
    const known = this.grants.get(identity);
    if (known !== undefined) {
      known.answers.push(event);
      if (!known.calls.includes(call)) known.calls.push(call);
      return;
    }
    const request =
      this.timeline.requests.get(requestKey(event.name, event.requestId)) ??
      this.timeline.requests.get(requestKey(event.name, event.call));
    const grant: Grant = {
      name: event.name,
      lease: event.lease,
      token: event.token,
      weight: request?.weight ?? this.weight({ ...call.asked, permitCount: event.permitCount }),
      requestKey: request?.key ?? requestKey(event.name, event.requestId),
      asked: request?.calls[0]?.asked ?? null,
      received: event,
      answers: [event],
      calls: [call],
      renewals: [],
      releases: [],
      ends: [],
      forced: false,
      belief: null,
    };
    this.grants.set(identity, grant);
    this.byLease.set(event.lease, grant);
    request?.grants.push(grant);
    this.timeline.addGrant(grant);
  }

  private markForced(): void {
    for (const event of this.history) {
      if (event.type !== 'revoke_asked' || !event.force) continue;
      for (const grant of this.timeline.grantsOf(event.name)) {
        const meant = event.tokens === null || event.tokens.includes(grant.token);
        const askedAt = grant.asked?.at ?? grant.received.at;
        if (meant && askedAt <= event.at && (grant.belief?.to ?? 0) > event.at) grant.forced = true;
      }
    }
  }
}

/** A request id is scoped to its name. All clients of a history have one identity. */
function requestKey(name: string, requestId: string): string {
  return JSON.stringify([name, requestId]);
}
