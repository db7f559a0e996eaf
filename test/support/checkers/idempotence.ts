import type { HistoryEvent, Micros } from '../history';
import type { Timeline } from './timeline';
import type { Grant, Request } from './timeline-types';
import type { CheckOptions, Violation } from './violation';

/**
 * `docs/design/invariants.md`, 9: a request_id gets at most one token, and a finished one gets no grant while it is
 * remembered.
 */
export function checkIdempotence(timeline: Timeline, options: CheckOptions): Violation[] {
  return [...timeline.requests.values()].flatMap((request) => [
    ...secondGrants(request, timeline, options),
    ...grantsAfterEnd(request, timeline, options),
  ]);
}

function secondGrants(request: Request, timeline: Timeline, options: CheckOptions): Violation[] {
  const [first, ...others] = [...request.grants].sort((a, b) => a.received.at - b.received.at);
  if (first === undefined) return [];
  return others.flatMap((other) => {
    if (timeline.forgot('idempotence', first, other.received.at)) return [];
    // After the retention of an ended request, its id counts as new.
    const end = toldEnd(first);
    if (end !== null && other.received.at > end.at + options.rememberedUs) return [];
    const message = `one request got token ${first.token} and token ${other.token}`;
    return [violation(request, message, [first.received, other.received])];
  });
}

/** Finds grants to calls that were sent after the end of the request's lease. */
function grantsAfterEnd(request: Request, timeline: Timeline, options: CheckOptions): Violation[] {
  return request.grants.flatMap((grant) => {
    const end = toldEnd(grant);
    if (end === null) return [];
    return request.calls.flatMap((call) => {
      const { granted, asked } = call;
      if (granted === null || asked.at <= end.at) return [];
      if (granted.at > end.at + options.rememberedUs) return [];
      if (timeline.forgot('idempotence', grant, granted.at)) return [];
      const message = `a request was granted again after its lease with token ${grant.token} had ended`;
      return [violation(request, message, [grant.received, end.event, asked, granted])];
    });
  });
}

function toldEnd(grant: Grant): { at: Micros; event: HistoryEvent } | null {
  const events: HistoryEvent[] = [...grant.ends];
  for (const { answer, ended } of [...grant.releases, ...grant.renewals]) {
    if (answer?.type === 'release_answered') events.push(answer);
    if (ended?.reason === 'LEASE_NOT_HELD') events.push(ended);
  }
  const certain = events.filter((event) => event.type !== 'lost' || event.cause === 'STORE_RESET');
  const [first] = certain.sort((a, b) => a.at - b.at);
  return first === undefined ? null : { at: first.at, event: first };
}

function violation(request: Request, message: string, trace: readonly HistoryEvent[]): Violation {
  return { invariant: 'idempotence', name: request.name, message, trace };
}
