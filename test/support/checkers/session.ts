import type { Granted, HistoryEvent, Micros, RenewalIgnored, Renewed } from '../history';
import type { Timeline } from './timeline';
import { type Call, type Grant, longestTtl, madeAfter } from './timeline-types';
import type { CheckOptions, Violation } from './violation';

/** The tolerance for offsets, which are rounded to whole microseconds in several places. */
const ROUNDING: Micros = 1_000;

/**
 * `docs/design/invariants.md`, 15: a session answers each command once, renews no lease of a silent client, and only the
 * latest attach has a lease.
 */
export function checkSession(timeline: Timeline, options: CheckOptions): Violation[] {
  return [
    ...timeline.history.flatMap((event) =>
      event.type === 'contract_broken' ? [violation(null, event.what, [event])] : [],
    ),
    ...[...timeline.calls.values()].flatMap((call) => unanswered(call, timeline, options)),
    ...timeline.grants.flatMap((grant) => [
      ...renewedInSilence(grant),
      ...twoSpeakers(grant, timeline),
      ...supersededByNobody(grant, timeline),
      ...takenBack(grant, timeline),
    ]),
  ];
}

/** Finds commands without an answer after their wait_timeout, while their session was open and no fault delayed them. */
function unanswered(call: Call, timeline: Timeline, options: CheckOptions): Violation[] {
  const { asked, session, granted, ended, letGo, cancelled } = call;
  if (session === null || [granted, ended, letGo].some((end) => end !== null)) return [];
  const waitUs = asked.rpc === 'attach' ? 0 : (asked.waitTimeoutUs ?? Infinity);
  const due =
    Math.min(asked.at + waitUs, cancelled?.at ?? Infinity) +
    options.commandTimeoutUs +
    options.latencyUs +
    options.wakeUpUs;
  if (due > Math.min(session.over, timeline.end)) return [];
  if (timeline.excused('lost_wake_up', asked.at, due, { name: asked.name })) return [];
  if (timeline.excused('loss', asked.at, due, { client: asked.client })) return [];
  const waitedMs = (due - asked.at) / 1000;
  const message = `${asked.call} had no answer within ${waitedMs} ms, although its session was open`;
  return [violation(asked.name, message, call.events.slice(0, 3))];
}

/**
 * Finds renewals that were sent to the store although the last heartbeat and the grant were older than the ttl. The offset
 * shows the time from the heartbeat to the renewal.
 */
function renewedInSilence(grant: Grant): Violation[] {
  const ttlUs = longestTtl(grant);
  return [...grant.answers, ...grant.ignored].flatMap((answer) => {
    if (isGrant(answer) || answer.heartbeat === undefined) return [];
    // A grant may be younger than the heartbeat that its own message names.
    const sinceBeat = [...grant.answers, ...grant.ignored].filter((one) => isGrantAfterBeat(one, answer));
    const graceUs = Math.max(0, ...sinceBeat.map(({ expireOffsetUs }) => expireOffsetUs));
    const silentUs = answer.expireOffsetUs - ttlUs - graceUs;
    if (silentUs <= ttlUs + ROUNDING) return [];
    const message = `token ${grant.token} was renewed ${silentUs / 1000} ms after the last heartbeat, longer than its ttl`;
    return [violation(grant.name, message, [...sinceBeat, answer])];
  });
}

type Answer = Granted | Renewed | RenewalIgnored;

function isGrant(answer: Answer): boolean {
  return answer.type === 'granted' || (answer.type === 'renewal_ignored' && answer.attached === true);
}

function isGrantAfterBeat(one: Answer, { call, heartbeat }: Answer): boolean {
  return isGrant(one) && one.call === call && one.heartbeat === heartbeat;
}

/** Finds renewals of a call that were certainly made after a later call had taken the lease over. */
function twoSpeakers(grant: Grant, timeline: Timeline): Violation[] {
  const streams = grant.calls.filter((call) => call.asked.rpc !== 'acquire');
  if (streams.length < 2) return [];
  return [...grant.answers, ...grant.ignored].flatMap((answer) => {
    if (answer.type === 'granted') return [];
    const own = streams.find(({ asked }) => asked.call === answer.call);
    const madeAt = madeAfter(grant, answer);
    const later = streams.find(
      ({ asked, granted }) =>
        own !== undefined &&
        granted !== null &&
        asked.at > (own.granted?.at ?? Infinity) &&
        granted.at < madeAt,
    );
    if (!later?.granted || timeline.forgot('loss', grant, answer.at)) return [];
    if (timeline.mayHaveUndone(grant.name, later.granted.at, answer.at)) return [];
    const message = `token ${grant.token} was renewed for a call after a later call had attached`;
    return [violation(grant.name, message, [later.asked, later.granted, answer])];
  });
}

/** Finds streams and commands that ended with SUPERSEDED although no other call can have taken the lease over. */
function supersededByNobody(grant: Grant, timeline: Timeline): Violation[] {
  const repeated = timeline.requests.get(grant.requestKey)?.calls ?? [];
  const asking = [...grant.calls, ...grant.attaches, ...repeated];
  return grant.calls.flatMap((call) => {
    const { ended, granted } = call;
    if (ended?.reason !== 'SUPERSEDED' || granted === null) return [];
    if (asking.some((other) => mayHaveSuperseded(other, call, ended.at))) return [];
    // The call before speaks again if the store has lost the take-over.
    if (timeline.mayHaveUndone(grant.name, granted.at, ended.at)) return [];
    const message = `token ${grant.token} ended with SUPERSEDED, and no other call has asked for it and kept it`;
    return [violation(grant.name, message, [granted, ended])];
  });
}

/** The call that speaks for a lease last is never superseded, so it explains the ends of all other calls. */
function mayHaveSuperseded(other: Call, call: Call, endedAt: Micros): boolean {
  if (other === call || other.asked.rpc === 'acquire' || other.asked.at > endedAt) return false;
  const [own, rival] = [call.session, other.session];
  if (own !== null && own.client === rival?.client) {
    return rival.number > own.number || (rival.number === own.number && other.asked.at > call.asked.at);
  }
  return other.ended?.reason !== 'SUPERSEDED' || other.ended.at > endedAt;
}

/** Finds attaches of an older session that took the lease back from a newer session of the same client. */
function takenBack(grant: Grant, timeline: Timeline): Violation[] {
  const inSessions = grant.calls.filter((call) => call.session !== null && call.granted !== null);
  return inSessions.flatMap((late) => {
    const newer = inSessions.find(
      ({ session, granted }) =>
        session?.client === late.session?.client &&
        (session?.number ?? 0) > (late.session?.number ?? 0) &&
        (granted?.at ?? Infinity) < late.asked.at,
    );
    if (!newer?.granted || late.granted === null) return [];
    if (timeline.forgot('loss', grant, late.granted.at)) return [];
    if (timeline.mayHaveUndone(grant.name, newer.granted.at, late.granted.at)) return [];
    const message = `token ${grant.token} was taken back by an older session`;
    return [violation(grant.name, message, [newer.granted, late.asked, late.granted])];
  });
}

function violation(name: string | null, message: string, trace: readonly HistoryEvent[]): Violation {
  return { invariant: 'session', name, message, trace };
}
