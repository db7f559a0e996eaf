import type { HolderView, LossCause, Mode } from '../../src/engine/lease';
import type { Outlook } from '../../src/engine/store';

/** A reply as the model gives it: it knows nothing of when a command was sent. */
export type Unsent<Reply> = Reply extends { readonly sentAt: number } ? Omit<Reply, 'sentAt'> : Reply;

export type State = 'waiting' | 'detached' | 'offered' | 'held' | 'ended';

/** One request, from its first command until nothing remembers it. Times in microseconds. */
export interface ModelRequest {
  readonly id: string;
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
  /** When what it is now ends by itself: the lease, the offer, the kept place, the tombstone. */
  until: number;
  /** The only call that was answered with the lease; '' once there was another. */
  answered: string;
  /** Whether that call may still give it back. */
  returnable: boolean;
  cause: LossCause | 'released';
  /** It came due in a stall, and was given more time. */
  spared: boolean;
}

export function outlookOf(requests: readonly ModelRequest[], now: number): Outlook {
  const earliest = (state: State) =>
    requests
      .filter((request) => request.state === state)
      .sort((a, b) => a.until - b.until || (a.id < b.id ? -1 : 1))[0];
  const [lease, offer] = [earliest('held'), earliest('offered')];
  const first = lease ?? offer;
  const ends = [lease, offer].filter((request) => request !== undefined).map((request) => request.until);
  return {
    earliestEndMs: ends.length === 0 ? undefined : (Math.min(...ends) - now) / 1000,
    waiterCount: requests.filter((request) => request.state === 'waiting').length,
    holder: first && view(first),
    holderEndMs: first && (first.until - now) / 1000,
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
    revoked: false,
  };
}
