import type {
  NeverFits,
  LeaseWanted,
  RevokeCommand,
  RevokeReply,
  RevokeTarget,
  UnknownResource,
} from '../../../src/leases/lease-store';
import type { LossCause } from '../../../src/leases/lease';
import type { ModelRequest, State } from './lease-model-request';

const SECOND = 1_000_000;
const OFFER = 3 * SECOND;
const LONGEST_DIRECT = 120 * SECOND;
const SILENT = 4 * SECOND;
const STALL = 3 * SECOND;
const KEEP_PLACE = 10 * SECOND;
const REMEMBER = 60 * SECOND;
/** A revocation looks for a waiter at most this many places before and behind its position. */
const PLACES = 64;

export const serverOf = (attach: string) => attach.slice(0, attach.indexOf('.'));
export const isStream = (attach: string) => attach.endsWith('s');

/**
 * True: a later session of the same client, or a later command of the same session, speaks for the request than the call
 * with `attach`. The call may have come late.
 */
export function isAfter(stored: string, attach: string): boolean {
  const [now, late] = [speakerOf(stored), speakerOf(attach)];
  if (now === undefined || late === undefined || now.client !== late.client) return false;
  return now.session > late.session || (now.session === late.session && now.command > late.command);
}

interface Speaker {
  readonly client: string;
  readonly session: number;
  readonly command: number;
}

/** The command of a session that an attach names. Undefined: the attach names no session. */
export function speakerOf(attach: string): Speaker | undefined {
  const [, client = '', session, command] = /\/([^/]+)\/(\d+)\.(\d+)s$/.exec(attach) ?? [];
  return client === '' ? undefined : { client, session: Number(session), command: Number(command) };
}

export const micros = (ms: number) => Math.round(ms * 1000);

/** The state of one resource in the model, with the steps that commands share: purge, grantNext, changes of state. */
export class ModelResource {
  limit: number | undefined;
  /** The limit that comes back when the pause ends. */
  keptLimit: number | undefined;
  readonly requests: ModelRequest[] = [];
  lastToken = 0;
  /** The requests that servers must recheck after a command, as [server, request id]. */
  told: [server: string, id: string][] = [];
  /** The waiters of the asking server that a command has granted. */
  direct: ModelRequest[] = [];
  protected lastTicket = 0;
  private lastSeen = 0;
  private graceUntil = 0;
  private gracedUntil = 0;
  /** The time of the deletion, and the last ticket before the deletion. -Infinity without a recent deletion. */
  protected deletedAt = -Infinity;
  protected cut = -Infinity;
  /** The tickets of revoked requests that wait, or may still wait for the news of their lease. */
  protected readonly revokedTickets = new Set<number>();
  protected readonly alive = new Map<string, number>();
  protected now = 0;
  protected server = '';
  private own = '';

  get used(): number {
    return this.holders().reduce((sum, request) => sum + request.permits, 0);
  }

  holders(): ModelRequest[] {
    return this.in('held').concat(this.in('offered'));
  }

  queue(): ModelRequest[] {
    return this.in('waiting').sort((a, b) => a.ticket - b.ticket || (a.id < b.id ? -1 : 1));
  }

  in(state: State): ModelRequest[] {
    return this.requests.filter((request) => request.state === state);
  }

  /** Moves all times into the past. Tickets and tokens stay. */
  shift(us: number): void {
    for (const request of this.requests) {
      request.until -= us;
    }
    for (const [server, seen] of this.alive) this.alive.set(server, seen - us);
    this.lastSeen -= us;
    this.graceUntil -= us;
    this.deletedAt -= us;
    this.gracedUntil -= us;
  }

  /** Creates a new resource, unless the resource is too small for the request. */
  protected make({ permits, initialLimit }: LeaseWanted): UnknownResource | NeverFits | undefined {
    const limit = this.limit ?? initialLimit;
    if (limit === undefined) return { kind: 'unknown-resource' };
    if (limit > 0 && permits > limit) {
      this.grantNext();
      return { kind: 'never-fits', limit };
    }
    this.limit = limit;
    return undefined;
  }

  protected neverFits({ permits }: { readonly permits: number }): boolean {
    return this.limit !== undefined && this.limit > 0 && permits > this.limit;
  }

  /** Forgets a request that never fits. */
  protected dismiss(request: ModelRequest, tell = false): NeverFits {
    if (tell) this.tell(request);
    this.forget(request);
    this.grantNext();
    return { kind: 'never-fits', limit: this.limit as number };
  }

  /** `own`: the request that the command is about. */
  protected begin(server: string, now: number, own = ''): void {
    this.server = server;
    this.own = own;
    this.now = now;
    this.told = [];
    this.direct = [];
    if (this.limit === undefined && this.deletedAt === -Infinity) this.startAnew();
    if (now - this.deletedAt > REMEMBER) this.deletedAt = this.cut = -Infinity;
    if ((this.limit !== undefined || this.cut > 0) && now - this.lastSeen > STALL) {
      this.gracedUntil = this.graceUntil;
      this.graceUntil = now + STALL;
    }
    this.lastSeen = now;
  }

  /** Resets the state to the state of an unused name, also for a semaphore that was deleted long ago. */
  protected startAnew(): void {
    this.lastToken = this.lastTicket = this.graceUntil = this.gracedUntil = 0;
  }

  protected purge(): void {
    const due = (state: State) => this.in(state).filter((request) => request.until <= this.now);
    for (const request of due('held')) this.bury(request, 'expired');
    for (const request of due('offered')) {
      if (!this.spare(request, this.now + OFFER)) this.detach(request);
    }
    for (const request of due('detached')) {
      if (!this.spare(request, this.graceUntil)) this.forget(request);
    }
    due('ended').forEach((request) => this.forget(request));
  }

  /** Extends an offer or a kept place once if its end was in a stall. */
  protected spare(request: ModelRequest, until: number): boolean {
    if (this.now >= this.graceUntil || request.spared) return false;
    Object.assign(request, { spared: true, until });
    return true;
  }

  /** Forgets a dead server and detaches its waiters. */
  protected sweep(): void {
    const silentSince = [...this.alive].sort(([a, s], [b, t]) => s - t || (a < b ? -1 : 1))[0];
    if (!silentSince || silentSince[1] > this.now - KEEP_PLACE || !this.isSilent(silentSince[0])) return;
    for (const request of this.queue()) {
      if (this.isSilent(serverOf(request.attach))) this.detach(request);
    }
    this.alive.delete(silentSince[0]);
    this.grantNext();
  }

  protected grantNext(): void {
    for (;;) {
      const head = this.queue()[0];
      if (!head || this.limit === undefined || this.used >= this.limit) return;
      if (this.isSilent(serverOf(head.attach))) this.detach(head);
      else if (this.used + head.permits > this.limit) return;
      else {
        this.takeToken(head);
        head.spared = false;
        const isOwn = head.id === this.own;
        if (!isOwn && head.ttl <= LONGEST_DIRECT && serverOf(head.attach) === this.server) {
          this.hold(head, head.attach);
          head.unheard = true;
          this.direct.push(head);
        } else {
          Object.assign(head, { state: 'offered', until: this.now + OFFER, grantedAt: this.now });
          this.tell(head);
        }
      }
    }
  }

  protected isSilent(server: string): boolean {
    if (server === this.server) return false;
    const seen = this.alive.get(server) ?? 0;
    const hadItsChance = this.now >= this.graceUntil || seen < this.gracedUntil - STALL;
    return this.now - seen > SILENT && hadItsChance;
  }

  protected add(command: LeaseWanted, ticket: number): ModelRequest {
    const request: ModelRequest = {
      id: command.requestId,
      clientRequestId: command.clientRequestId,
      identity: command.identity,
      secret: command.secret,
      permits: command.permits,
      mode: command.mode,
      holderId: command.holderId,
      ticket,
      state: 'waiting',
      attach: command.attach,
      metadata: command.metadata,
      ttl: micros(command.ttlMs),
      token: 0,
      queuedAt: ticket,
      grantedAt: 0,
      until: 0,
      answered: '',
      returnable: false,
      unheard: false,
      cause: 'expired',
      revoked: false,
      spared: false,
    };
    this.requests.push(request);
    return request;
  }

  protected takeToken(request: ModelRequest): void {
    this.lastToken = Math.max(this.lastToken + 1, this.now);
    request.token = this.lastToken;
  }

  protected hold(request: ModelRequest, attach: string): void {
    Object.assign(request, { state: 'held', attach, answered: attach, returnable: true, unheard: false });
    Object.assign(request, { grantedAt: this.now, until: this.now + request.ttl });
  }

  protected takeOver(request: ModelRequest, attach: string): void {
    if (isStream(request.attach) && serverOf(request.attach) !== this.server) this.tell(request);
    Object.assign(request, { attach, answered: attach, returnable: false, unheard: false });
  }

  protected detach(request: ModelRequest): void {
    Object.assign(request, { state: 'detached', until: this.now + KEEP_PLACE, spared: false });
  }

  protected bury(request: ModelRequest, cause: LossCause | 'released'): void {
    const known = request.revoked && cause !== 'released' ? 'revoked' : cause;
    Object.assign(request, { state: 'ended', cause: known, until: this.now + REMEMBER });
  }

  revoke(server: string, now: number, { target, force }: RevokeCommand): RevokeReply {
    this.begin(server, now);
    this.purge();
    if (this.limit === undefined) return { kind: 'unknown-resource' };
    const isMeant = ({ id, token }: ModelRequest) => {
      if (target.kind === 'all-holders') return true;
      const hasToken = target.kind !== 'waiter' && token === Number(target.fencingToken);
      return hasToken && (target.kind === 'token' || target.requestId === id);
    };
    const offers = target.kind === 'lease' ? [] : this.in('offered').filter(isMeant);
    const dismissed = [...offers, ...(target.kind === 'waiter' ? this.waiterNear(target) : [])];
    const held = this.in('held').filter(isMeant);
    for (const request of dismissed) this.dismissRevoked(request);
    for (const request of held) {
      if (isStream(request.attach) || request.unheard) this.tell(request);
      if (request.unheard) this.revokedTickets.add(request.ticket);
      request.revoked = true;
      if (force) this.bury(request, 'revoked');
    }
    this.grantNext();
    return {
      kind: 'revoked',
      count: dismissed.length + held.length,
      latestEndMs:
        force || held.length === 0 ? undefined : Math.max(...held.map(({ until }) => until)) / 1000,
      next: undefined,
    };
  }

  /** Ends an offer or a wait. The call of the request learns of the end by its next claim. */
  protected dismissRevoked(request: ModelRequest): void {
    this.tell(request);
    this.revokedTickets.add(request.ticket);
    request.revoked = true;
    this.bury(request, 'revoked');
  }

  /** The waiter with the enqueue time that is nearest to the position, if any. */
  private waiterNear({ position, enqueueTimeUs }: RevokeTarget & { kind: 'waiter' }): ModelRequest[] {
    return this.queue()
      .map((request, index) => ({ request, distance: Math.abs(index + 1 - position) }))
      .filter(({ request, distance }) => BigInt(request.queuedAt) === enqueueTimeUs && distance <= PLACES)
      .sort((one, other) => one.distance - other.distance)
      .slice(0, 1)
      .map(({ request }) => request);
  }

  protected forget(request: ModelRequest): void {
    this.requests.splice(this.requests.indexOf(request), 1);
  }

  protected find(id: string): ModelRequest | undefined {
    return this.requests.find((request) => request.id === id);
  }

  protected tell(request: ModelRequest): void {
    this.told.push([serverOf(request.attach), request.id]);
  }
}
