import type { Granted, HistoryEvent, Killed, Lost, Micros, Renewed } from '../history';
import type { Grant } from './timeline-types';

/**
 * The span in which a client may act as the holder: from the first receipt of the grant to the first of release sent,
 * LOST received, local deadline and SIGKILL. The latest deadline counts. If several clients attached to the lease, the
 * span ends when the last of them stops. See `docs/design/invariants.md`. LOST with the cause REVOKED does not end the span:
 * without force nobody else may be granted before the deadline (docs/design/leases.md, rule 9).
 */
export interface Belief {
  readonly from: Micros;
  readonly to: Micros;
  /** The event that ended the belief. For a deadline: the answer that set the deadline. */
  readonly endedBy: HistoryEvent;
  readonly cause: 'release' | 'lost' | 'deadline' | 'killed';
}

/** A grant that a client believed in and that no operator revoked by force. */
export type Believed = Grant & { readonly belief: Belief };

export function isBelieved(grant: Grant): grant is Believed {
  return grant.belief !== null && !grant.forced;
}

type Answer = Granted | Renewed;
type End = Pick<Belief, 'to' | 'endedBy' | 'cause'>;

export function beliefOf(grant: Grant, killed: ReadonlyMap<string, Killed>): Belief | null {
  const alive = grant.answers.filter((answer) => answer.deadline > answer.at);
  const first = alive[0];
  if (first === undefined) return null;
  const ends = [...new Set(alive.map((answer) => answer.client))].map((client) =>
    beliefEnd(grant, client, alive, killed.get(client)),
  );
  let last = ends.reduce((latest, end) => (end.to > latest.to ? end : latest));
  const release = grant.releases[0]?.asked;
  if (release !== undefined && release.at < last.to) {
    last = { to: release.at, endedBy: release, cause: 'release' };
  }
  return last.to > first.at ? { from: first.at, ...last } : null;
}

function beliefEnd(grant: Grant, client: string, alive: readonly Answer[], killed: Killed | undefined): End {
  const lost = grant.ends.find((end): end is Lost => end.client === client && end.type === 'lost');
  const heard = alive.filter(
    (answer) => answer.client === client && (lost === undefined || answer.at < lost.at),
  );
  let end: End = { to: 0, endedBy: grant.received, cause: 'deadline' };
  for (const answer of heard) {
    if (answer.deadline > end.to) end = { to: answer.deadline, endedBy: answer, cause: 'deadline' };
  }
  if (lost !== undefined && lost.cause !== 'REVOKED' && lost.at < end.to)
    end = { to: lost.at, endedBy: lost, cause: 'lost' };
  if (killed !== undefined && killed.at < end.to) end = { to: killed.at, endedBy: killed, cause: 'killed' };
  return end;
}
