import type { Resource } from '../../../src/leases/lease';
import type { AcquireRequest } from '../../../src/leases/lease-requests';

/** The names that all clients share. The model store has them in one bucket, so that leases are renewed together. */
export const RESOURCES: readonly Resource[] = [
  { service: 'lock', name: 'hello' },
  { service: 'lock', name: 'world' },
  { service: 'semaphore', name: 'pools' },
];
export const POOL_LIMIT = 2;
const WAIT_MS = 4000;

/** A request of any client. Several calls may ask for the same request. */
export interface AskedRequest {
  readonly resource: Resource;
  readonly fields: AcquireRequest & { readonly requestId: string };
  /** Those who have asked for the request or its lease: client processes, and 'other' for calls without a session. */
  readonly askers: Set<string>;
}

/** A lease that some call was granted. Every client may use the lease id. */
export interface KnownLease {
  readonly leaseId: string;
  readonly token: bigint;
  readonly request: AskedRequest;
}

export interface RequestChoice {
  readonly resource: number;
  readonly isSmall: boolean;
  readonly hasShortTtl: boolean;
  readonly waits: 'not' | 'for a time' | 'until cancelled';
  /** 0: an earlier request again. */
  readonly freshness: number;
  readonly pick: number;
}

/** The requests and leases of all clients. */
export class Requests {
  readonly leases: KnownLease[] = [];
  private readonly asked: AskedRequest[] = [];

  /** A new request, or an earlier request for the same or another client. */
  choose(choice: RequestChoice): AskedRequest {
    const earlier = choice.freshness === 0 ? newestFirst(this.asked, choice.pick) : undefined;
    if (earlier) {
      return { ...earlier, fields: { ...earlier.fields, waitTimeoutMs: waitTimeoutOf(choice) } };
    }
    const resource = newestFirst(RESOURCES, choice.resource) as Resource;
    const isLock = resource.service === 'lock';
    const requestId = `0190a0a0-0000-7000-9000-${String(this.asked.length).padStart(12, '0')}`;
    const request: AskedRequest = {
      resource,
      fields: {
        name: resource.name,
        requestId,
        mode: isLock && choice.isSmall ? 'shared' : 'exclusive',
        permitCount: isLock || choice.isSmall ? 1 : POOL_LIMIT,
        holderId: '',
        metadata: {},
        initialLimit: isLock ? undefined : POOL_LIMIT,
        ttlMs: choice.hasShortTtl ? 1500 : 6000,
        waitTimeoutMs: waitTimeoutOf(choice),
      },
      askers: new Set(),
    };
    this.asked.push(request);
    return request;
  }

  granted(leaseId: string, token: bigint, request: AskedRequest): KnownLease {
    const known = this.leases.find((lease) => lease.leaseId === leaseId);
    if (known) return known;
    const lease = { leaseId, token, request };
    this.leases.push(lease);
    return lease;
  }

  lease(pick: number): KnownLease | undefined {
    return newestFirst(this.leases, pick);
  }
}

function waitTimeoutOf({ waits }: RequestChoice): number | undefined {
  if (waits === 'until cancelled') return undefined;
  return waits === 'not' ? 0 : WAIT_MS;
}

/** The element before the last `pick` elements. */
export function newestFirst<Item>(items: readonly Item[], pick: number): Item | undefined {
  return items[items.length - 1 - (pick % Math.max(1, items.length))];
}
