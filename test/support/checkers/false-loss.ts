import type { HistoryEvent, LossCause, Lost, Micros } from '../history';
import { concerns } from './fault-effects';
import { hasRunOut, lastAnswer, ranOut } from './ran-out';
import type { Timeline } from './timeline';
import { madeAfter, type Call, type Grant, type LeaseCall } from './timeline-types';
import type { CheckOptions, Violation } from './violation';

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
  return [violation(grant, message, [last, letGo])];
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
    return [violation(grant, message, [last, lost])];
  }
  if (explained(grant, lost.cause, since, lost.at, timeline)) return [];
  if (ranOut(grant, lost, timeline, options)) return [];
  const message = `token ${grant.token} received LOST / ${lost.cause}, and no event explains that cause`;
  return [violation(grant, message, [last, lost])];
}

function unasked(grant: Grant, end: HistoryEvent): Violation[] {
  if (grant.releases.some(({ asked }) => asked.at <= end.at)) return [];
  return [
    violation(grant, `token ${grant.token} was released without any release call`, [grant.received, end]),
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
  return [violation(grant, message, [last, call.asked, refused])];
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

function violation(grant: Grant, message: string, trace: readonly HistoryEvent[]): Violation {
  return { invariant: 'false_loss', name: grant.name, message, trace };
}
