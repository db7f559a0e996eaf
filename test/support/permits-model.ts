import type {
  AcquireCommand,
  AcquireReply,
  ClaimCommand,
  ClaimReply,
  NeverFits,
  QueueSnapshot,
  PermitsWanted,
  ReleaseCommand,
  ReleaseReply,
  RenewCommand,
  RemoveCommand,
  RemoveReply,
  RenewReply,
  SetLimitCommand,
  SetLimitReply,
  CallRef,
  TouchReply,
  UnknownResource,
  WithdrawCommand,
  WithdrawReply,
} from '../../src/engine/leases/permits-store';
import type { LossCause, ResourceView } from '../../src/engine/leases/lease';
import { outlookOf, viewOf, type ModelRequest, type State, type Unsent } from './permits-model-request';

const SECOND = 1_000_000;
const OFFER = 3 * SECOND;
const SILENT = 4 * SECOND;
const STALL = 3 * SECOND;
const KEEP_PLACE = 10 * SECOND;
const REMEMBER = 60 * SECOND;

const serverOf = (attach: string) => attach.slice(0, attach.indexOf('.'));
const isStream = (attach: string) => attach.endsWith('s');
const micros = (ms: number) => Math.round(ms * 1000);

/**
 * The rules of grants, queues and leases for one resource, said as plainly as can be: one array, searched
 * through, no batches, no storage. Whatever the store answers is compared with what this says.
 */
export class PermitsModel {
  limit: number | undefined;
  readonly requests: ModelRequest[] = [];
  lastToken = 0;
  /** Requests that a command told a server to look at again, as [server, request id]. */
  told: [server: string, id: string][] = [];
  private lastTicket = 0;
  private lastSeen = 0;
  private graceUntil = 0;
  private gracedUntil = 0;
  /** When it was deleted, and the last ticket before that; -Infinity: never, or long ago. */
  private deletedAt = -Infinity;
  private cut = -Infinity;
  private readonly alive = new Map<string, number>();
  private now = 0;
  private server = '';

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

  /** Everything that is measured in time moves into the past; places and tokens stay. */
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

  acquire(server: string, now: number, command: AcquireCommand): Unsent<AcquireReply> {
    this.begin(server, now);
    this.purge();
    const known = this.find(command.requestId);
    if (known) return this.repeat(known, command);
    const refused = this.make(command);
    if (refused) return refused;
    this.promote();
    const fits = this.in('waiting').length === 0 && this.used + command.permits <= (this.limit as number);
    if (!fits && !command.wait) return { kind: 'refused', snapshot: this.snapshot() };
    const places = this.in('waiting').length + this.in('detached').length;
    if (!fits && places >= command.maxWaiters) {
      this.sweep();
      return { kind: 'queue-full', waiterCount: places };
    }
    this.lastTicket = Math.max(this.lastTicket + 1, now);
    const request = this.add(command, this.lastTicket);
    if (!fits) {
      this.alive.set(server, now);
      return this.waiting(request);
    }
    this.takeToken(request);
    this.hold(request, command.attach);
    return this.granted(request);
  }

  private repeat(known: ModelRequest, command: AcquireCommand): Unsent<AcquireReply> {
    const { attach } = command;
    if (known.state === 'ended') return { kind: 'finished', cause: known.cause };
    if (known.holderId !== command.holderId) return { kind: 'mismatch', field: 'holder_id' };
    if (known.mode !== command.mode) return { kind: 'mismatch', field: 'mode' };
    if (known.permits !== command.permits) return { kind: 'mismatch', field: 'permit_count' };
    if (known.state === 'held') {
      if (known.attach !== attach && command.takeOver) {
        this.takeOver(known, attach);
        known.ttl = Math.max(known.ttl, micros(command.ttlMs));
        known.until = Math.max(known.until, this.now + micros(command.ttlMs));
      } else if (known.attach !== attach) {
        known.answered = '';
      }
      this.promote();
      return this.granted(known);
    }
    if (this.neverFits(known)) return this.dismiss(known);
    if (known.attach !== attach && serverOf(known.attach) !== this.server) this.tell(known);
    Object.assign(known, { attach, ttl: micros(command.ttlMs), metadata: command.metadata });
    if (known.state === 'offered') this.hold(known, attach);
    else {
      known.state = 'waiting';
      this.alive.set(this.server, this.now);
    }
    this.promote();
    if ((known.state as State) === 'offered') this.hold(known, attach);
    if ((known.state as State) === 'held') return this.granted(known);
    if (command.wait) return this.waiting(known);
    this.detach(known);
    this.promote();
    return { kind: 'refused', snapshot: this.snapshot() };
  }

  claim(server: string, now: number, command: ClaimCommand): Unsent<ClaimReply> {
    this.begin(server, now);
    this.purge();
    let request = this.find(command.requestId);
    if (!request && Number(command.ticket) <= this.cut) return { kind: 'unknown-resource' };
    if (request && request.attach !== command.attach) return { kind: 'superseded' };
    if (request?.state === 'ended') return { kind: 'finished', cause: request.cause };
    if (request && this.neverFits(request) && request.state !== 'held') return this.dismiss(request);
    if (!request) {
      const refused = this.make(command);
      if (refused) return refused;
      request = this.add(command, Number(command.ticket));
      this.lastTicket = Math.max(this.lastTicket, request.ticket);
    }
    if (request.state === 'detached') request.state = 'waiting';
    this.alive.set(server, now);
    if (request.state === 'offered') this.hold(request, command.attach);
    else if (request.state === 'held') request.until = Math.max(request.until, now + request.ttl);
    this.promote();
    if ((request.state as State) === 'offered') this.hold(request, command.attach);
    return (request.state as State) === 'held' ? this.granted(request) : this.waiting(request);
  }

  withdraw(server: string, now: number, command: WithdrawCommand): Unsent<WithdrawReply> {
    this.begin(server, now);
    this.purge();
    const request = this.find(command.requestId);
    if (request && request.attach !== command.attach) return { kind: 'superseded' };
    if (request?.state === 'ended') return { kind: 'finished', cause: request.cause };
    if (request && command.giveBack) {
      const answered = request.answered === command.attach && request.returnable;
      if (request.state === 'held' && !answered) return { kind: 'kept' };
      if (request.state !== 'detached') this.detach(request);
    }
    this.promote();
    if (request && !command.giveBack) {
      if (request.state === 'offered') this.hold(request, command.attach);
      else if (request.state === 'held') request.until = Math.max(request.until, now + request.ttl);
      else if (request.state === 'waiting') this.detach(request);
      this.promote();
      if ((request.state as State) === 'held') return this.granted(request);
    }
    return { kind: 'withdrawn', snapshot: this.snapshot() };
  }

  touch(server: string, now: number, waiters: readonly CallRef[]): TouchReply {
    this.begin(server, now);
    if (waiters.length > 0 && this.limit !== undefined) this.alive.set(server, now);
    this.purge();
    for (const request of waiters.length > 0 ? this.in('offered') : []) {
      if (serverOf(request.attach) === server) this.tell(request);
    }
    this.promote();
    this.sweep();
    const words = waiters.map(({ requestId, attach }) => {
      const request = this.find(requestId);
      if (request && request.attach !== attach) return 'superseded';
      return request?.state === 'waiting' ? this.position(request) : 'recheck';
    });
    return { snapshot: this.snapshot(), waiters: words };
  }

  renew(server: string, now: number, command: RenewCommand): Unsent<RenewReply> {
    this.begin(server, now);
    this.purge();
    this.promote();
    const { stream } = command;
    const request = this.find(command.requestId);
    if (!request || request.secret !== command.secret) return { kind: 'gone' };
    if (request.state !== 'held' && request.state !== 'ended') return { kind: 'gone' };
    if (stream && !stream.takeOver && request.attach !== stream.attach) return { kind: 'superseded' };
    if (request.state === 'ended') return { kind: 'finished', cause: request.cause };
    const ttl = command.ttlMs === undefined ? 0 : micros(command.ttlMs);
    request.ttl = Math.max(request.ttl, ttl);
    if (stream?.takeOver && request.attach !== stream.attach) this.takeOver(request, stream.attach);
    else if (!stream) request.answered = '';
    request.until = Math.max(request.until, now + (ttl || request.ttl));
    this.promote();
    return this.granted(request);
  }

  release(server: string, now: number, command: ReleaseCommand): ReleaseReply {
    this.begin(server, now);
    this.purge();
    this.promote();
    const request = this.find(command.requestId);
    if (!request || request.secret !== command.secret) return { kind: 'gone' };
    if (request.state === 'ended') return { kind: 'finished', cause: request.cause };
    if (request.state !== 'held') return { kind: 'gone' };
    if (command.afterLoss && request.answered !== command.afterLoss.attach) return { kind: 'superseded' };
    this.bury(request, command.afterLoss ? 'expired' : 'released');
    if (!command.afterLoss && isStream(request.attach)) this.tell(request);
    this.promote();
    return { kind: 'released' };
  }

  setLimit(server: string, now: number, name: string, command: SetLimitCommand): Unsent<SetLimitReply> {
    this.begin(server, now);
    this.purge();
    const { limit, expectedLimit } = command;
    const before = this.limit;
    if (expectedLimit !== undefined && before === undefined) return { kind: 'unknown-resource' };
    if (expectedLimit !== undefined && before !== undefined && before !== expectedLimit && before !== limit) {
      return { kind: 'limit-mismatch', limit: before };
    }
    this.limit = limit;
    if (before !== undefined && (limit < before || before === 0)) {
      if (limit < before && this.used > limit)
        for (const request of this.in('offered')) request.state = 'waiting';
      for (const request of this.queue()) {
        if (this.neverFits(request)) this.dismiss(request, true);
        else if (this.isSilent(serverOf(request.attach))) this.detach(request);
      }
    }
    this.promote();
    return { kind: 'set', view: this.view(name) };
  }

  remove(server: string, now: number, command: RemoveCommand): RemoveReply {
    this.begin(server, now);
    this.purge();
    if (this.limit === undefined) {
      return { kind: this.deletedAt === -Infinity ? 'unknown-resource' : 'removed' };
    }
    if (!command.force) this.sweep();
    const [holderCount, waiterCount] = [this.holders().length, this.queue().length];
    if (!command.force && holderCount + waiterCount > 0) return { kind: 'in-use', holderCount, waiterCount };
    this.limit = undefined;
    this.deletedAt = now;
    this.cut = this.lastTicket = Math.max(this.lastTicket, now);
    for (const request of [...this.requests]) {
      if (request.state === 'ended') continue;
      if (request.state !== 'held' || isStream(request.attach)) this.tell(request);
      if (request.state === 'held') this.bury(request, 'revoked');
      else this.forget(request);
    }
    this.alive.clear();
    return { kind: 'removed' };
  }

  view(name: string): ResourceView {
    return viewOf(this.requests, { name, limit: this.limit, lastFencingToken: BigInt(this.lastToken) });
  }

  /** Makes the resource if it is new, but not one too small for the request that brings it. */
  private make({ permits, initialLimit }: PermitsWanted): UnknownResource | NeverFits | undefined {
    const limit = this.limit ?? initialLimit;
    if (limit === undefined) return { kind: 'unknown-resource' };
    if (limit > 0 && permits > limit) {
      this.promote();
      return { kind: 'never-fits', limit };
    }
    this.limit = limit;
    return undefined;
  }

  private neverFits({ permits }: { readonly permits: number }): boolean {
    return this.limit !== undefined && this.limit > 0 && permits > this.limit;
  }

  /** Who never fits is forgotten, and told so. */
  private dismiss(request: ModelRequest, tell = false): NeverFits {
    if (tell) this.tell(request);
    this.forget(request);
    this.promote();
    return { kind: 'never-fits', limit: this.limit as number };
  }

  private begin(server: string, now: number): void {
    this.server = server;
    this.now = now;
    this.told = [];
    if (this.limit === undefined && this.deletedAt === -Infinity) this.startAnew();
    if (now - this.deletedAt > REMEMBER) this.deletedAt = this.cut = -Infinity;
    if ((this.limit !== undefined || this.cut > 0) && now - this.lastSeen > STALL) {
      this.gracedUntil = this.graceUntil;
      this.graceUntil = now + STALL;
    }
    this.lastSeen = now;
  }

  /** Nothing is known of a name that was never used, or deleted long enough ago. */
  private startAnew(): void {
    this.lastToken = this.lastTicket = this.graceUntil = this.gracedUntil = 0;
  }

  private purge(): void {
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

  /** What came due in a stall gets one more chance. */
  private spare(request: ModelRequest, until: number): boolean {
    if (this.now >= this.graceUntil || request.spared) return false;
    Object.assign(request, { spared: true, until });
    return true;
  }

  /** A server that has gone for good is forgotten, with the waiters that it had. */
  private sweep(): void {
    const silentSince = [...this.alive].sort(([a, s], [b, t]) => s - t || (a < b ? -1 : 1))[0];
    if (!silentSince || silentSince[1] > this.now - KEEP_PLACE || !this.isSilent(silentSince[0])) return;
    for (const request of this.queue()) {
      if (this.isSilent(serverOf(request.attach))) this.detach(request);
    }
    this.alive.delete(silentSince[0]);
    this.promote();
  }

  private promote(): void {
    for (;;) {
      const head = this.queue()[0];
      if (!head || this.limit === undefined || this.used >= this.limit) return;
      if (this.isSilent(serverOf(head.attach))) this.detach(head);
      else if (this.used + head.permits > this.limit) return;
      else {
        this.takeToken(head);
        const until = this.now + OFFER;
        Object.assign(head, { state: 'offered', until, grantedAt: this.now, spared: false });
        this.tell(head);
      }
    }
  }

  private isSilent(server: string): boolean {
    if (server === this.server) return false;
    const seen = this.alive.get(server) ?? 0;
    const hadItsChance = this.now >= this.graceUntil || seen < this.gracedUntil - STALL;
    return this.now - seen > SILENT && hadItsChance;
  }

  private add(command: PermitsWanted, ticket: number): ModelRequest {
    const request: ModelRequest = {
      id: command.requestId,
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
      queuedAt: this.now,
      grantedAt: 0,
      until: 0,
      answered: '',
      returnable: false,
      cause: 'expired',
      spared: false,
    };
    this.requests.push(request);
    return request;
  }

  private takeToken(request: ModelRequest): void {
    this.lastToken = Math.max(this.lastToken + 1, this.now);
    request.token = this.lastToken;
  }

  private hold(request: ModelRequest, attach: string): void {
    Object.assign(request, { state: 'held', attach, answered: attach, returnable: true });
    Object.assign(request, { grantedAt: this.now, until: this.now + request.ttl });
  }

  private takeOver(request: ModelRequest, attach: string): void {
    if (isStream(request.attach) && serverOf(request.attach) !== this.server) this.tell(request);
    Object.assign(request, { attach, answered: attach, returnable: false });
  }

  private detach(request: ModelRequest): void {
    Object.assign(request, { state: 'detached', until: this.now + KEEP_PLACE, spared: false });
  }

  private bury(request: ModelRequest, cause: LossCause | 'released'): void {
    Object.assign(request, { state: 'ended', cause, until: this.now + REMEMBER });
  }

  private forget(request: ModelRequest): void {
    this.requests.splice(this.requests.indexOf(request), 1);
  }

  private find(id: string): ModelRequest | undefined {
    return this.requests.find((request) => request.id === id);
  }

  private tell(request: ModelRequest): void {
    this.told.push([serverOf(request.attach), request.id]);
  }

  private position(request: ModelRequest): number {
    return this.queue().indexOf(request) + 1;
  }

  private waiting(request: ModelRequest): Unsent<Extract<AcquireReply, { kind: 'waiting' }>> {
    const ticket = String(request.ticket);
    return { kind: 'waiting', ticket, position: this.position(request), snapshot: this.snapshot() };
  }

  private granted(request: ModelRequest): Unsent<Extract<AcquireReply, { kind: 'granted' }>> {
    return {
      kind: 'granted',
      fencingToken: BigInt(request.token),
      remainingMs: (request.until - this.now) / 1000,
      ttlMs: request.ttl / 1000,
      secret: request.secret,
      permits: request.permits,
    };
  }

  private snapshot(): QueueSnapshot {
    return outlookOf(this.requests, this.now, this.limit);
  }
}
