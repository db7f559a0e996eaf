import type { History, HistoryEvent, Micros } from '../support/history';

/** A request with its lease, or a call about a lease that is not in the history. */
interface Tracked {
  lastEvent: Micros;
  /** The longest ttl of its events. Undefined if no event has a ttl. */
  ttl: Micros | undefined;
  hasLease: boolean;
  /** True if the client was told that the request holds nothing any more. */
  isOver: boolean;
}

/** The reasons that prove that a call was granted nothing. */
const REFUSALS: ReadonlySet<string> = new Set(['CONTENDED', 'NEVER_FITS', 'STORE_FULL']);

class LeaseTracker {
  private readonly all = new Set<Tracked>();
  private readonly byId = new Map<string, Tracked>();
  private readonly byClient = new Map<string, Set<Tracked>>();
  private lastFaultEnd: Micros = -Infinity;
  private longestTtl: Micros = 0;

  add(event: HistoryEvent): void {
    if ('ttlUs' in event) this.longestTtl = Math.max(this.longestTtl, event.ttlUs ?? 0);
    if (event.type === 'fault_ended') this.lastFaultEnd = event.at;
    if (event.type === 'killed') {
      for (const tracked of this.byClient.get(event.client) ?? []) tracked.lastEvent = event.at;
    }
    if ('call' in event) this.addToCall(event);
  }

  /** The instant by which the last lease without a seen end has expired. */
  end(): Micros {
    let last = -Infinity;
    for (const { lastEvent, ttl = this.longestTtl, isOver } of this.all) {
      if (!isOver) last = Math.max(last, Math.max(lastEvent, this.lastFaultEnd) + ttl);
    }
    return last;
  }

  private addToCall(event: Extract<HistoryEvent, { call: string }>): void {
    const tracked = this.find(event);
    tracked.lastEvent = event.at;
    if ('ttlUs' in event && event.ttlUs !== null) tracked.ttl = Math.max(tracked.ttl ?? 0, event.ttlUs);
    if (event.type === 'asked') tracked.isOver = false;
    if (event.type === 'granted') tracked.hasLease = true;
    if (event.type === 'release_answered' && event.released) tracked.isOver = true;
    if (event.type === 'ended' && REFUSALS.has(event.reason ?? '')) tracked.isOver ||= !tracked.hasLease;
  }

  private find(event: Extract<HistoryEvent, { call: string }>): Tracked {
    const ids = [`call ${event.call}`];
    if ('lease' in event && event.lease) ids.push(`lease ${event.lease}`);
    if (event.type === 'asked' && event.requestId !== null) ids.push(`request ${event.requestId}`);
    const known = ids.map((id) => this.byId.get(id)).find((tracked) => tracked !== undefined);
    const tracked = known ?? { lastEvent: event.at, ttl: undefined, hasLease: false, isOver: false };
    for (const id of ids) this.byId.set(id, tracked);
    this.all.add(tracked);
    const ofClient = this.byClient.get(event.client) ?? new Set();
    this.byClient.set(event.client, ofClient.add(tracked));
    return tracked;
  }
}

/**
 * The instant by which every lease of the history was released or has expired. A lease expires at most its ttl after
 * its last event. The result is -Infinity if all leases were released.
 */
export function restingSince(history: History): Micros {
  const tracker = new LeaseTracker();
  for (const event of history) tracker.add(event);
  return tracker.end();
}
