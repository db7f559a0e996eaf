import type { Granted, HistoryEvent, LossCause, Lost, Micros, Renewed } from '../history';
import { concerns, erases, type Scope } from './fault-effects';
import type { Timeline } from './timeline';
import { type Call, type Grant, isBelieved, type LeaseCall, madeAfter, WHOLE_LOCK } from './timeline-types';
import type { CheckOptions, Violation } from './violation';

/** The answer with the latest deadline before an instant, of one call or of all calls. */
function lastAnswer(grant: Grant, before: number, call?: string): Grant['answers'][number] {
  let last: Grant['answers'][number] | null = null;
  for (const answer of grant.answers) {
    if (answer.at > before || (call !== undefined && answer.call !== call)) continue;
    if (last === null || answer.deadline > last.deadline) last = answer;
  }
  return last ?? grant.received;
}

/**
 * True if a short lease may have expired because the machine was slow. The server must report LOST at the last
 * confirmed end, and the end in the store may be later. A stream renews every third of the ttl, so quick answers to all
 * other calls prove that its renewal would have been answered in time.
 */
function ranOut(grant: Grant, lost: Lost, timeline: Timeline, options: CheckOptions): boolean {
  if (lost.cause !== 'EXPIRED' && lost.cause !== 'STORE_UNAVAILABLE') return false;
  return hasRunOut(lastAnswer(grant, lost.at, lost.call), lost.at, timeline, options);
}

/** The same for the last answer before the end of a lease. */
function hasRunOut(
  last: Grant['answers'][number],
  at: Micros,
  timeline: Timeline,
  { latencyUs }: CheckOptions,
): boolean {
  if (last.deadline - last.at >= latencyUs) return false;
  return !timeline.pace.wasQuick(at - last.ttlUs, at, last.ttlUs / 3);
}

/**
 * `docs/design/invariants.md`, 6: the loser has LOST, or its deadline, before the next grant. Each grant ends in
 * exactly one way.
 */
export function checkLoss(timeline: Timeline, options: CheckOptions): Violation[] {
  return [
    ...timeline.names().flatMap((name) => lateLosses(name, timeline)),
    ...timeline.grants.flatMap((grant) => [...contradictions(grant, timeline, options), ...trailing(grant)]),
    ...timeline.grants.flatMap((grant) =>
      grant.calls
        .filter((call) => call.asked.rpc !== 'acquire')
        .flatMap((call) => [...silences(grant, call, timeline, options), ...wrongEnds(grant, call)]),
    ),
  ];
}

/** Finds LOST events between the next grant of the lock and the loser's own deadline. */
function lateLosses(name: string, timeline: Timeline): Violation[] {
  if (!timeline.isLock(name)) return [];
  const losers = timeline.grantsOf(name).filter(isBelieved);
  losers.sort((a, b) => a.token - b.token);
  return losers.flatMap((grant, index) => {
    const next = losers[index + 1];
    if (next === undefined || grant.belief.cause !== 'lost') return [];
    if (grant.weight !== WHOLE_LOCK && next.weight !== WHOLE_LOCK) return [];
    if (grant.belief.to <= next.belief.from) return [];
    if (timeline.forgot('loss', grant, next.belief.from)) return [];
    const message = `token ${grant.token} received LOST after token ${next.token} had been granted`;
    return [violation(name, message, [grant.received, next.received, grant.belief.endedBy])];
  });
}

/** Finds grants that were both released and lost, or lost for several causes. */
function contradictions(grant: Grant, timeline: Timeline, options: CheckOptions): Violation[] {
  const lost = grant.ends.filter((end): end is Lost => end.type === 'lost');
  const released: HistoryEvent[] = [
    ...grant.ends.filter((end) => end.type === 'released'),
    ...grant.releases.flatMap(({ answer }) =>
      answer?.type === 'release_answered' && answer.released ? [answer] : [],
    ),
  ];
  const violations: Violation[] = [];
  // A server without answers of the store reports LOST at the last confirmed end. The end in the store may be later,
  // and then a late release still finds the lease.
  const isUncertain = (event: Lost) =>
    silentStore(grant, grant.received.at, event.at, timeline) || ranOut(grant, event, timeline, options);
  const certain = lost.find((event) =>
    event.cause === 'REVOKED' ? !isKept(grant, timeline) : !isUncertain(event),
  );
  if (certain !== undefined && released[0] !== undefined && !timeline.forgot('loss', grant, certain.at)) {
    const message = `token ${grant.token} ended both by release and by loss (${certain.cause})`;
    violations.push(violation(grant.name, message, [grant.received, certain, released[0]]));
  }
  const heard = lost.filter((event) => !isUncertain(event));
  const causes = new Set<LossCause>(heard.map((event) => event.cause));
  if (causes.size > 1) {
    const message = `token ${grant.token} was lost for several causes: ${[...causes].join(', ')}`;
    violations.push(violation(grant.name, message, [grant.received, ...heard]));
  }
  return violations;
}

/** True if the lease was revoked without force: its holder may still release the lease. */
function isKept(grant: Grant, timeline: Timeline): boolean {
  return timeline.history.some(
    (event) =>
      event.type === 'revoke_asked' &&
      !event.force &&
      event.name === grant.name &&
      (event.tokens === null || event.tokens.includes(grant.token)),
  );
}

/** True if a fault may have kept the store's answers from the server. */
function silentStore(grant: Grant, from: Micros, to: Micros, timeline: Timeline): boolean {
  return timeline.faults.some(
    (window) =>
      (window.explains.has('STORE_UNAVAILABLE') || window.kind === 'reply_dropped') &&
      window.from <= to &&
      window.shownTo >= from &&
      concerns(window, { name: grant.name }),
  );
}

/** Finds events on a stream after its `lost` or `released`. */
function trailing(grant: Grant): Violation[] {
  return grant.calls.flatMap((call) => {
    const last = call.events.findIndex((event) => event.type === 'lost' || event.type === 'released');
    if (last === -1) return [];
    return call.events.slice(last + 1).flatMap((event) => {
      if (event.type === 'ended' || event.type === 'cancelled') return [];
      const message = `the stream of token ${grant.token} received ${event.type} after its end`;
      return [violation(grant.name, message, [...call.events.slice(last, last + 1), event])];
    });
  });
}

/**
 * Finds streams that were silent for too long. A live stream gets another confirmation or LOST within a TTL of the last
 * confirmation. After the store lost its data, LOST comes within one renewal interval.
 */
function silences(grant: Grant, call: Call, timeline: Timeline, options: CheckOptions): Violation[] {
  const said = call.events.filter((event) => event.type !== 'renewal_failed' && event.type !== 'queued');
  const until = Math.min(call.over, timeline.end);
  const scope = { client: call.asked.client, name: grant.name };
  return said.flatMap((event, index) => {
    if (event.type !== 'granted' && event.type !== 'renewed') return [];
    const following = said[index + 1];
    const next = following?.at ?? until;
    const noticed = resetNoticed(grant, event, next, timeline, options);
    const due = Math.min(event.at + event.ttlUs, noticed) + options.wakeUpUs + options.latencyUs;
    if (next <= due || undeliverable(event.at, next, scope, timeline)) return [];
    const message = `the stream of token ${grant.token} was silent for ${(next - event.at) / 1000} ms`;
    return [violation(grant.name, message, following === undefined ? [event] : [event, following])];
  });
}

/** The instant of the next answered renewal after the store lost this lease. Infinity if the store kept the lease. */
function resetNoticed(
  grant: Grant,
  last: Granted | Renewed,
  next: Micros,
  timeline: Timeline,
  options: CheckOptions,
): Micros {
  const interval = Math.min(last.ttlUs / 3, options.renewalUs);
  const noticed = timeline.faults
    .filter((window) => erases(window, grant.name) && window.from > last.at && window.to < next)
    .filter((window) => !silentStore(grant, window.from, window.to + interval, timeline))
    .map((window) => window.to + interval);
  return Math.min(Infinity, ...noticed);
}

/** True if a paused process or a cut link excuses the silence. A loss of data is no excuse. */
function undeliverable(from: Micros, to: Micros, scope: Scope, timeline: Timeline): boolean {
  return timeline.faults.some(
    (window) =>
      window.excuses.has('loss') &&
      !window.explains.has('STORE_RESET') &&
      window.from <= to &&
      window.shownTo >= from &&
      concerns(window, scope),
  );
}

/** Finds streams with a status that contradicts their last event. */
function wrongEnds(grant: Grant, call: Call): Violation[] {
  const { ended } = call;
  if (ended === null || ended.at > call.over) return [];
  const lost = call.events.find((event) => event.type === 'lost');
  const released = call.events.find((event) => event.type === 'released');
  const wrong =
    (ended.code === 'OK' && released === undefined) ||
    (ended.reason === 'LEASE_LOST' && lost === undefined) ||
    (lost !== undefined && ended.reason !== 'LEASE_LOST' && ended.code !== 'UNAVAILABLE');
  if (!wrong) return [];
  const status = `${ended.code}${ended.reason === null ? '' : ` / ${ended.reason}`}`;
  const message = `the stream of token ${grant.token} ended with ${status} without the matching event`;
  return [violation(grant.name, message, [...call.events.slice(-3, -1), ended])];
}

function violation(name: string, message: string, trace: readonly HistoryEvent[]): Violation {
  return { invariant: 'loss', name, message, trace };
}

/** Equal instants may differ by rounding to whole microseconds. */
const ROUNDING: Micros = 1_000;

/** `docs/design/invariants.md`, 7: no LOST, and no LEASE_NOT_HELD, without a cause in the history. */
export function checkFalseLoss(timeline: Timeline, options: CheckOptions): Violation[] {
  return timeline.grants.flatMap((grant) => [
    ...grant.ends.flatMap((end) =>
      end.type === 'lost' ? losses(grant, end, timeline, options) : unasked(grant, end),
    ),
    ...[...grant.renewals, ...grant.releases].flatMap((call) => refusals(grant, call, timeline)),
    ...grant.attaches.flatMap((call) =>
      refusals(grant, { asked: call.asked, answer: null, ended: call.ended }, timeline),
    ),
    ...grant.calls.flatMap((call) => runOut(grant, call, timeline, options)),
  ]);
}

/** Finds leases of sessions that reached the client's deadline, although nothing prevented their renewals. */
function runOut(grant: Grant, { letGo }: Call, timeline: Timeline, options: CheckOptions): Violation[] {
  if (letGo?.reason !== 'deadline') return [];
  const last = lastAnswer(grant, letGo.at);
  const { client } = letGo;
  const since = madeAfter(grant, last) - options.latencyUs;
  const causes: LossCause[] = ['EXPIRED', 'STORE_UNAVAILABLE', 'REVOKED'];
  if (causes.some((cause) => explained(grant, cause, since, letGo.at, timeline, client))) return [];
  if (hasRunOut(last, letGo.at, timeline, options)) return [];
  const message = `token ${grant.token} was not renewed before its deadline, and no event explains that`;
  return [falseLoss(grant, message, [last, letGo])];
}

function losses(grant: Grant, lost: Lost, timeline: Timeline, options: CheckOptions): Violation[] {
  // The stream knows only the renewals that its own call has confirmed. Another call may have renewed the lease later.
  const last = lastAnswer(grant, lost.at, lost.call);
  const timedOut = lost.cause === 'EXPIRED' || lost.cause === 'STORE_UNAVAILABLE';
  const since = madeAfter(grant, last) - options.latencyUs;
  // If the store has lost the last renewal, the lease ends as if this renewal had never happened.
  const setBack = explained(grant, 'STORE_RESET', since, lost.at, timeline);
  if (timedOut && last.deadline > lost.at + ROUNDING && !setBack) {
    const message = `token ${grant.token} received LOST / ${lost.cause} before its deadline`;
    return [falseLoss(grant, message, [last, lost])];
  }
  if (explained(grant, lost.cause, since, lost.at, timeline)) return [];
  if (ranOut(grant, lost, timeline, options)) return [];
  const message = `token ${grant.token} received LOST / ${lost.cause}, and no event explains that cause`;
  return [falseLoss(grant, message, [last, lost])];
}

function unasked(grant: Grant, end: HistoryEvent): Violation[] {
  if (grant.releases.some(({ asked }) => asked.at <= end.at)) return [];
  return [
    falseLoss(grant, `token ${grant.token} was released without any release call`, [grant.received, end]),
  ];
}

/** Finds renewals and releases that were answered LEASE_NOT_HELD while the lease must still exist. */
function refusals(grant: Grant, call: Refusable, timeline: Timeline): Violation[] {
  const refused = refusal(call);
  if (refused === null) return [];
  const last = lastAnswer(grant, refused.at);
  if (last.deadline <= refused.at + ROUNDING) return [];
  const ended =
    grant.releases.some(({ asked }) => asked.at <= refused.at && asked !== call.asked) ||
    grant.ends.some((end) => end.at <= refused.at);
  const causes: LossCause[] = ['REVOKED', 'STORE_RESET'];
  if (ended || causes.some((cause) => explained(grant, cause, madeAfter(grant, last), refused.at, timeline)))
    return [];
  const message = `token ${grant.token} was reported as gone before its deadline, and no call had ended it`;
  return [falseLoss(grant, message, [last, call.asked, refused])];
}

/** A renewal, a release or an attach. */
type Refusable = Pick<LeaseCall, 'answer' | 'ended'> & { readonly asked: HistoryEvent };

function refusal({ answer, ended }: Refusable): HistoryEvent | null {
  if (answer?.type === 'release_answered' && !answer.released) return answer;
  return ended?.reason === 'LEASE_NOT_HELD' ? ended : null;
}

function explained(
  grant: Grant,
  cause: LossCause,
  from: Micros,
  to: Micros,
  timeline: Timeline,
  client?: string,
): boolean {
  if (cause === 'REVOKED') {
    return timeline.history.some(
      (event) =>
        event.type === 'revoke_asked' &&
        event.name === grant.name &&
        event.at <= to &&
        (event.tokens === null || event.tokens.includes(grant.token)),
    );
  }
  return timeline.faults.some(
    (window) =>
      window.explains.has(cause) &&
      window.from <= to &&
      window.shownTo >= from &&
      concerns(window, { name: grant.name, ...(client !== undefined && { client }) }),
  );
}

function falseLoss(grant: Grant, message: string, trace: readonly HistoryEvent[]): Violation {
  return { invariant: 'false_loss', name: grant.name, message, trace };
}
