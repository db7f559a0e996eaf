import type { Asked, Granted, History, HistoryEvent, ReleaseAsked, RenewAsked } from '../history';
import { beliefOf, type Call, type Grant, type LeaseCall, WHOLE_LOCK } from './timeline-types';
import { faultWindow, lossReachUs } from './fault-effects';
import { LimitHistory, pushTo, Timeline } from './timeline';

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
        call.letGo?.at ?? Infinity,
        timeline.killed.get(call.asked.client)?.at ?? Infinity,
      );
    }
    for (const session of timeline.sessions.values())
      session.over = Math.min(session.over, timeline.killed.get(session.client)?.at ?? Infinity);
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
      if (event.type === 'session_opened')
        timeline.sessions.set(event.session, { client: event.client, number: event.number, over: Infinity });
      const session = event.type === 'session_ended' ? timeline.sessions.get(event.session) : undefined;
      if (session !== undefined) session.over = event.at;
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
      case 'renewal_ignored':
        this.byLease.get(event.lease)?.ignored.push(event);
        return;
      case 'let_go':
        if (call !== undefined) call.letGo ??= event;
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
      letGo: null,
      over: Infinity,
      session: this.timeline.sessions.get(asked.session ?? '') ?? null,
    };
    this.timeline.addCall(call);
    if (asked.rpc === 'attach') {
      this.byLease.get(asked.lease ?? '')?.attaches.push(call);
      return;
    }
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
      attaches: [],
      ignored: [],
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

/** Two requests with the same request id and different names are different requests. */
function requestKey(name: string, requestId: string): string {
  return JSON.stringify([name, requestId]);
}
