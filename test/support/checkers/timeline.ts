import type { ExpiryObserved, History, Killed, Micros } from '../history';
import { concerns, lossReachUs, type FaultWindow, type Scope } from './fault-effects';
import { LimitHistory } from './limit-history';
import { Pace } from './pace';
import { madeAfter, WHOLE_LOCK, type Call, type Grant, type Request, type Session } from './timeline-types';
import type { Invariant } from './violation';

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
