import type { ScenarioParts } from './client-process';
import type { Resource } from '../../../src/leases/lease';
import type { AcquireRequest } from '../../../src/leases/lease-requests';
import type { ModelRequest } from '../leases/lease-model-request';
import type { ModelWorld } from '../leases/model-store';
import type { SessionClient } from './session-client';

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

/** The store counts whole microseconds. */
const ROUNDING_MS = 0.002;

/** The belief of one call in its lease. */
export class Belief {
  /** The latest end that the client was told, on the world's clock (ms). */
  until = -Infinity;
  /** True: the client was told that the lease is no longer its own. */
  isOver = false;

  constructor(
    readonly resource: Resource,
    readonly token: bigint,
  ) {}
}

/** The leases in which clients believe, against what the store holds at the same time. */
export class Beliefs {
  private readonly beliefs: Belief[] = [];
  /** The leases for which a client has asked for the release. */
  private readonly released = new Set<string>();

  constructor(
    private readonly world: ModelWorld,
    private readonly violations: string[],
  ) {}

  begin(resource: Resource, token: bigint): Belief {
    const belief = new Belief(resource, token);
    this.beliefs.push(belief);
    return belief;
  }

  /**
   * A client was told of an end of its lease. The store must hold the lease for at least as long.
   * @param until the end by the client's clock, as a time of the world's clock (ms)
   */
  tell(belief: Belief, until: number): void {
    belief.until = Math.max(belief.until, until);
    if (!this.isBelieved(belief)) return;
    const leftMs = this.storedLeftMs(belief);
    const toldMs = until - this.world.clock.now();
    if (toldMs > leftMs + ROUNDING_MS) {
      this.violations.push(`${text(belief)} was told to end in ${toldMs} ms, and ends in ${leftMs} ms`);
    }
  }

  /** A client asks for the release of a lease. No client believes in the lease any more. */
  letGo({ request, token }: KnownLease): void {
    this.released.add(leaseText(request.resource, token));
  }

  /** Expects that the store holds each lease in which a client believes. */
  check(): void {
    for (const belief of this.beliefs) {
      if (this.isBelieved(belief) && this.storedLeftMs(belief) <= 0) {
        this.violations.push(`${text(belief)} is believed, and the store does not hold the lease`);
      }
    }
  }

  private isBelieved(belief: Belief): boolean {
    if (belief.isOver || this.released.has(text(belief))) return false;
    return belief.until > this.world.clock.now();
  }

  private storedLeftMs({ resource, token }: Belief): number {
    const isMeant = (request: ModelRequest): boolean =>
      request.state === 'held' && request.token === Number(token);
    const request = this.world.model(resource).requests.find(isMeant);
    return request === undefined ? 0 : (request.until - this.world.nowUs) / 1000;
  }
}

function text({ resource, token }: Belief): string {
  return leaseText(resource, token);
}

/** The tokens of different names may be equal. */
function leaseText({ name }: Resource, token: bigint): string {
  return `lease ${token} of ${name}`;
}

export type CommandKind = 'acquire' | 'attach' | 'release' | 'update' | 'cancel';

/** The ends of each kind of command (docs/api/sessions.md). */
const ENDS: Readonly<Record<CommandKind, readonly string[]>> = {
  acquire: ['granted', 'cancelled', 'failed'],
  attach: ['granted', 'cancelled', 'failed'],
  release: ['released', 'failed'],
  update: ['updated', 'failed'],
  cancel: [],
};

/** No command of the test may end with these reasons. */
const WRONG_REASONS = ['INTERNAL', 'INVALID_FIELD', 'NOT_IMPLEMENTED', 'QUOTA_EXCEEDED'];

/** One command of a session, as its client knows the command. */
export class CommandRecord {
  end: string | undefined;
  isCancelled = false;
  /** Orders the receipts of commands and grants of a client process. Undefined: the server has not received the command. */
  receivedAt: number | undefined;
  grantedAt: number | undefined;
  /** The time of the grant (ms, world's clock). */
  grantedTime = Infinity;
  lease: KnownLease | undefined;
  belief: Belief | undefined;
  /** True: the client was told of the end of the lease. */
  hasLeaseEnded = false;

  constructor(
    readonly session: SessionClient,
    readonly id: number,
    readonly kind: CommandKind,
    readonly request: AskedRequest | undefined,
    private readonly violations: string[],
  ) {}

  get holds(): boolean {
    return this.end === 'granted' && !this.hasLeaseEnded;
  }

  /** A cancel has no answer. */
  get isAnswered(): boolean {
    return this.end !== undefined || this.kind === 'cancel';
  }

  endWith(end: string, reason = ''): void {
    if (!ENDS[this.kind].includes(end)) this.report(`ended with ${end}`);
    if (this.end !== undefined) this.report(`ended with ${this.end}, then with ${end}`);
    if (end === 'cancelled' && !this.isCancelled) this.report('was cancelled by nobody');
    if (WRONG_REASONS.includes(reason)) this.report(`failed with ${reason}`);
    this.end = end;
  }

  /** Expects that the command has no end yet. */
  expectWait(): void {
    if (this.kind !== 'acquire' || this.end !== undefined) this.report('was told a position');
  }

  /** Expects that the client may be told of the lease. */
  expectLease(what: string): void {
    if (!this.holds) this.report(`was told ${what} without a lease`);
  }

  /** Whether the server must let this command keep the lease when the other command comes late. */
  isAfter({ session, id }: CommandRecord): boolean {
    return this.session.number > session.number || (this.session.number === session.number && this.id > id);
  }

  report(what: string): void {
    this.violations.push(`${this.kind} ${this.id} of session ${this.session.name} ${what}`);
  }
}

/**
 * A call was told SUPERSEDED. Expects that the store has another speaker for the request.
 * @param attach the end of the call's attach value
 */
export function expectSuperseded(
  { world, violations, isLossy }: ScenarioParts,
  { resource, fields: { requestId } }: AskedRequest,
  attach: string,
): void {
  const stored = world.model(resource).requests.find(({ id }) => id === requestId);
  if (isLossy || !stored?.attach.endsWith(attach)) return;
  violations.push(`${attach} was told SUPERSEDED, and speaks for ${requestId}`);
}
