import { randomUUID } from 'node:crypto';
import { Resource, type Holding, type Place, type Waiting, type Wanted } from './resource';
import { statusSpec, type StatusSpec } from './status-spec';

export interface ReleaseAnswer {
  readonly released: boolean;
  /** A LossCause without its prefix. */
  readonly cause: string;
}

/** The leases of all servers of a case. Correct and in memory. */
export class Store {
  /** False: a lease outlives its ttl, so that only the client notices its deadline. */
  expires = true;
  readonly resources = new Map<string, Resource>();
  readonly holdings = new Map<string, Holding>();
  /** All lease ids that were ever given. No log of a client may have them. */
  readonly leaseIds = new Set<string>();
  private readonly finished = new Map<string, ReleaseAnswer>();
  private readonly finishedRequests = new Set<string>();
  private readonly watchers = new Set<() => void>();

  acquire(wanted: Wanted, place: Place): void {
    const { kind, name, requestId, limit } = wanted;
    const held = [...this.holdings.values()].find((one) => one.wanted.requestId === requestId);
    if (held) return this.attachTo(held, place);
    if (this.finishedRequests.has(requestId)) return place.failed(statusSpec('REQUEST_FINISHED'));
    const resource = this.resource(kind, name);
    if (kind === 'permits') {
      if (resource.limit === 0) resource.limit = limit;
      if (resource.limit === 0) return place.failed(statusSpec('NO_SUCH_SEMAPHORE'));
      if (wanted.permits > resource.limit) return place.failed(statusSpec('NEVER_FITS'));
    }
    const waiting = resource.waiting(requestId);
    if (waiting) {
      if (isLater(waiting.place, place)) return place.failed(statusSpec('SUPERSEDED'));
      waiting.place = place;
      return place.queued(resource.position(waiting), resource.queue.length, resource.firstHolder);
    }
    if (resource.queue.length === 0 && resource.fits(wanted)) return this.grant(wanted, place);
    if (wanted.waitMs === 0) return place.failed(contended(resource));
    this.enqueue(resource, wanted, place);
  }

  cancel(place: Place): void {
    for (const resource of this.resources.values()) {
      const waiting = resource.queue.find((one) => one.place === place);
      if (!waiting) continue;
      this.leaveQueue(resource, waiting);
      return waiting.place.cancelled();
    }
  }

  attach(leaseId: string, place: Place): void {
    const held = this.holdings.get(leaseId);
    if (held) this.attachTo(held, place);
    else place.failed(statusSpec('LEASE_NOT_HELD'));
  }

  release(leaseId: string): ReleaseAnswer {
    const held = this.holdings.get(leaseId);
    if (!held) return this.finished.get(leaseId) ?? { released: false, cause: 'UNSPECIFIED' };
    const answer = held.revoked
      ? { released: false, cause: 'REVOKED' }
      : { released: true, cause: 'UNSPECIFIED' };
    this.end(held, held.revoked ? undefined : 'RELEASED', answer);
    return answer;
  }

  /** The lease has its whole ttl again. */
  renew(held: Holding): void {
    held.until = performance.now() + held.wanted.ttlMs;
    clearTimeout(held.timer);
    held.timer = setTimeout(() => this.expires && this.end(held, 'EXPIRED'), held.wanted.ttlMs);
  }

  /** Ends a lease, but no session tells. */
  endQuietly(held: Holding, cause: string): void {
    held.place = undefined;
    this.end(held, cause);
  }

  /** Ends a lease. A revoked lease stays held until its end or its release. */
  endByCase(held: Holding, cause: string | number): void {
    if (cause !== 'REVOKED') return this.end(held, cause);
    held.revoked = true;
    held.place?.ended('REVOKED');
    held.place = undefined;
  }

  end(held: Holding, cause: string | number | undefined, answer?: ReleaseAnswer): void {
    if (!this.holdings.delete(held.leaseId)) return;
    clearTimeout(held.timer);
    const known = typeof cause === 'string' && LOSS_CAUSES.has(cause) ? cause : 'UNSPECIFIED';
    this.finished.set(held.leaseId, answer ?? { released: false, cause: known });
    this.finishedRequests.add(held.wanted.requestId);
    held.resource.holders.delete(held);
    if (cause !== undefined) held.place?.ended(cause);
    held.place = undefined;
    this.grantNext(held.resource);
  }

  /** A stranger holds something, without a session and without an end. */
  hold(wanted: Wanted): void {
    const resource = this.resource(wanted.kind, wanted.name);
    if (wanted.kind === 'permits' && wanted.limit > 0) resource.limit = wanted.limit;
    if (!resource.fits(wanted)) throw new Error(`${wanted.name} has no room for the stranger`);
    this.newHolding(wanted, resource, undefined).until = Infinity;
    this.tellWatchers();
  }

  heldBy(name: string, matches: (held: Holding) => boolean = () => true): Holding | undefined {
    return [...this.holdings.values()].find((one) => one.wanted.name === name && matches(one));
  }

  find(name: string, token: string): Holding | undefined {
    return this.granted.find((one) => one.wanted.name === name && String(one.token) === token);
  }

  /** Every lease that was granted, in order. */
  readonly granted: Holding[] = [];

  resource(kind: 'lock' | 'permits', name: string): Resource {
    const key = `${kind} ${name}`;
    const known = this.resources.get(key) ?? new Resource(kind, name);
    this.resources.set(key, known);
    return known;
  }

  /** Calls back at each change of a holder. Returns the function that ends this. */
  watch(changed: () => void): () => void {
    this.watchers.add(changed);
    return () => this.watchers.delete(changed);
  }

  tellWatchers(): void {
    for (const changed of this.watchers) changed();
  }

  close(): void {
    for (const held of this.holdings.values()) clearTimeout(held.timer);
    for (const { queue } of this.resources.values()) for (const { timer } of queue) clearTimeout(timer);
  }

  private grant(wanted: Wanted, place: Place): void {
    const held = this.newHolding(wanted, this.resource(wanted.kind, wanted.name), place);
    this.renew(held);
    place.granted(held);
    this.tellWatchers();
  }

  private newHolding(wanted: Wanted, resource: Resource, place: Place | undefined): Holding {
    const leaseId = randomUUID();
    const token = (resource.lastToken += 1n);
    const held = {
      ...{ leaseId, token, resource, wanted, place, until: 0, revoked: false },
      ...{ believableUntil: -Infinity, toldAt: Infinity, timer: undefined },
    };
    this.leaseIds.add(leaseId);
    this.granted.push(held);
    this.holdings.set(leaseId, held);
    resource.holders.add(held);
    return held;
  }

  private attachTo(held: Holding, place: Place): void {
    if (held.revoked) return place.failed(statusSpec('LEASE_NOT_HELD'));
    if (held.place && isLater(held.place, place)) return place.failed(statusSpec('SUPERSEDED'));
    held.place?.ended('SUPERSEDED');
    held.place = place;
    this.renew(held);
    place.granted(held);
  }

  private enqueue(resource: Resource, wanted: Wanted, place: Place): void {
    const waiting: Waiting = { wanted, place, timer: undefined };
    resource.queue.push(waiting);
    if (wanted.waitMs !== undefined) {
      waiting.timer = setTimeout(() => {
        this.leaveQueue(resource, waiting);
        waiting.place.failed(contended(resource));
      }, wanted.waitMs);
    }
    place.queued(resource.queue.length, resource.queue.length, resource.firstHolder);
  }

  private leaveQueue(resource: Resource, waiting: Waiting): void {
    clearTimeout(waiting.timer);
    resource.queue = resource.queue.filter((one) => one !== waiting);
    this.grantNext(resource);
  }

  private grantNext(resource: Resource): void {
    this.tellWatchers();
    const [head] = resource.queue;
    if (!head || !resource.fits(head.wanted)) return;
    clearTimeout(head.timer);
    resource.queue = resource.queue.slice(1);
    this.grant(head.wanted, head.place);
    this.grantNext(resource);
  }
}

const LOSS_CAUSES = new Set(['EXPIRED', 'REVOKED', 'STORE_RESET', 'STORE_UNAVAILABLE']);

/** A place of the same process with a greater session number is not given back. */
function isLater(holder: Place, asking: Place): boolean {
  return holder.clientId === asking.clientId && holder.sessionNumber > asking.sessionNumber;
}

function contended(resource: Resource): StatusSpec {
  const metadata = {
    holder_id: resource.firstHolder?.wanted.holderId ?? '',
    waiter_count: String(resource.queue.length),
  };
  return statusSpec({ reason: 'CONTENDED', metadata });
}
