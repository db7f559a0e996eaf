import type { HolderView, LossCause, Mode, ResourceView } from '../../../src/leases/lease';
import type { QueueSnapshot } from '../../../src/leases/lease-store';

/** A reply of the model, without the send time of the command. */
export type Unsent<Reply> = Reply extends { readonly sentAt: number } ? Omit<Reply, 'sentAt'> : Reply;

export type State = 'waiting' | 'detached' | 'offered' | 'held' | 'ended';

/** A request from its first command until its removal. Times in microseconds. */
export interface ModelRequest {
  readonly id: string;
  readonly clientRequestId: string;
  readonly identity: string;
  readonly secret: string;
  readonly permits: number;
  readonly mode: Mode;
  readonly holderId: string;
  readonly ticket: number;
  state: State;
  attach: string;
  metadata: Readonly<Record<string, string>>;
  ttl: number;
  token: number;
  grantedAt: number;
  readonly queuedAt: number;
  /** The end of the lease, offer, kept place or tombstone. */
  until: number;
  /** The attach of the only call that got the lease as its answer. Empty after a second call got the lease. */
  answered: string;
  /** True if the answered call may give the lease back. */
  returnable: boolean;
  /** A direct grant that no command of the call was answered with. */
  unheard: boolean;
  cause: LossCause | 'released';
  /** An operator has revoked the lease or the waiting request. */
  revoked: boolean;
  /** True if the offer or the kept place ended in a stall and was extended. */
  spared: boolean;
}

const byEnd = (a: ModelRequest, b: ModelRequest) => a.until - b.until || (a.id < b.id ? -1 : 1);
const byTicket = (a: ModelRequest, b: ModelRequest) => a.ticket - b.ticket || (a.id < b.id ? -1 : 1);

function inOrder(requests: readonly ModelRequest[], state: State): ModelRequest[] {
  return requests.filter((request) => request.state === state).sort(state === 'waiting' ? byTicket : byEnd);
}

const sumOf = (requests: readonly ModelRequest[]) => requests.reduce((sum, { permits }) => sum + permits, 0);

const SHOWN = 16;

export function viewOf(
  requests: readonly ModelRequest[],
  numbers: Pick<ResourceView, 'name' | 'limit' | 'keptLimit' | 'lastFencingToken'>,
): ResourceView {
  const holders = [...inOrder(requests, 'held'), ...inOrder(requests, 'offered')];
  const waiters = inOrder(requests, 'waiting');
  return {
    ...numbers,
    usedCount: sumOf(holders),
    holderCount: holders.length,
    waiterCount: waiters.length,
    holders: holders.slice(0, SHOWN).map(view),
    waiters: waiters
      .slice(0, SHOWN)
      .map(({ holderId, metadata, permits, mode, queuedAt, identity }, index) => ({
        holderId,
        metadata,
        permitCount: permits,
        mode,
        position: index + 1,
        enqueueTimeMs: queuedAt / 1000,
        identity,
      })),
  };
}

export function queueSnapshotOf(
  requests: readonly ModelRequest[],
  now: number,
  limit: number | undefined,
): QueueSnapshot {
  const [lease] = inOrder(requests, 'held');
  const [offer] = inOrder(requests, 'offered');
  const first = lease ?? offer;
  const ends = [lease, offer].filter((request) => request !== undefined).map((request) => request.until);
  return {
    earliestEndMs: ends.length === 0 ? undefined : (Math.min(...ends) - now) / 1000,
    waiterCount: inOrder(requests, 'waiting').length,
    holder: first && view(first),
    holderEndMs: first && (first.until - now) / 1000,
    limit,
    usedCount: sumOf([...inOrder(requests, 'held'), ...inOrder(requests, 'offered')]),
  };
}

function view(request: ModelRequest): HolderView {
  return {
    holderId: request.holderId,
    metadata: request.metadata,
    fencingToken: BigInt(request.token),
    permitCount: request.permits,
    mode: request.mode,
    acquireTimeMs: request.grantedAt / 1000,
    expireTimeMs: request.until / 1000,
    revoked: request.revoked,
    identity: request.identity,
  };
}
