import type {
  AcquireOptions,
  AcquireReply,
  ClaimReply,
  Finished,
  Granted,
  QueueSnapshot,
  ReleaseCommand,
  ReleaseReply,
  LeaseToRenew,
  LeaseWanted,
  RenewCommand,
  Renewed,
  RemoveCommand,
  RemoveReply,
  RenewReply,
  SetLimitCommand,
  SetLimitReply,
  CallRef,
  TouchReply,
  WithdrawCommand,
  WithdrawReply,
} from '../../../src/leases/lease-store';
import type { ResourceView } from '../../../src/leases/lease';
import { queueSnapshotOf, viewOf, type ModelRequest, type State, type Unsent } from './lease-model-request';
import { isAfter, isStream, micros, ModelResource, serverOf } from './lease-model-resource';

/** An acquire or a claim with all its fields. */
export type AcquireCommand = LeaseWanted & AcquireOptions;
export type ClaimCommand = LeaseWanted & { readonly ticket: string };

/**
 * The rules of grants, queues and leases for one resource in their simplest form, without batches and storage. Tests
 * compare every reply of the store with the reply of this model.
 */
export class LeaseModel extends ModelResource {
  acquire(server: string, now: number, command: AcquireCommand): Unsent<AcquireReply> {
    this.begin(server, now, command.requestId);
    this.purge();
    const known = this.find(command.requestId);
    if (known) return this.repeat(known, command);
    const refused = this.make(command);
    if (refused) return refused;
    this.grantNext();
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
    if (known.state === 'ended') {
      if (known.attach !== attach) known.returnable = false;
      return this.finished(known, attach);
    }
    if (known.holderId !== command.holderId) return { kind: 'mismatch', field: 'holder_id' };
    if (known.mode !== command.mode) return { kind: 'mismatch', field: 'mode' };
    if (known.permits !== command.permits) return { kind: 'mismatch', field: 'permit_count' };
    if (command.takeOver && isAfter(known.attach, attach)) {
      this.grantNext();
      return { kind: 'superseded' };
    }
    if (known.revoked) {
      this.grantNext();
      return this.finished(known, attach);
    }
    if (known.state === 'held') {
      if (known.attach !== attach && command.takeOver) {
        this.takeOver(known, attach);
        known.ttl = Math.max(known.ttl, micros(command.ttlMs));
        known.until = Math.max(known.until, this.now + micros(command.ttlMs));
      } else if (known.attach !== attach) {
        known.answered = '';
      }
      this.grantNext();
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
    this.grantNext();
    if ((known.state as State) === 'offered') this.hold(known, attach);
    if ((known.state as State) === 'held') return this.granted(known);
    if (command.wait) return this.waiting(known);
    this.detach(known);
    this.grantNext();
    return { kind: 'refused', snapshot: this.snapshot() };
  }

  claim(server: string, now: number, command: ClaimCommand): Unsent<ClaimReply> {
    this.begin(server, now, command.requestId);
    this.purge();
    let request = this.find(command.requestId);
    if (!request && Number(command.ticket) <= this.cut) return { kind: 'unknown-resource' };
    if (!request && this.revokedTickets.has(Number(command.ticket))) {
      return { kind: 'finished', cause: 'revoked' };
    }
    if (request && request.attach !== command.attach) return { kind: 'superseded' };
    if (request?.revoked && request.state === 'held') this.grantNext();
    if (request?.revoked || request?.state === 'ended') return this.finished(request, command.attach);
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
    this.grantNext();
    if ((request.state as State) === 'offered') this.hold(request, command.attach);
    return (request.state as State) === 'held' ? this.granted(request) : this.waiting(request);
  }

  withdraw(server: string, now: number, command: WithdrawCommand): Unsent<WithdrawReply> {
    this.begin(server, now, command.requestId);
    this.purge();
    const request = this.find(command.requestId);
    if (request && request.attach !== command.attach) return { kind: 'superseded' };
    const token = command.fencingToken;
    const isHeldOrEnded = request?.state === 'held' || request?.state === 'ended';
    const isMeant = token === undefined || (isHeldOrEnded && request.token === Number(token));
    const ticket = request && String(request.ticket);
    if (request?.state === 'ended') {
      if (
        !command.giveBack ||
        !isMeant ||
        command.onlyUnheard ||
        !this.isReturnable(request, command.attach)
      ) {
        return this.finished(request, command.attach);
      }
      this.forget(request);
      this.grantNext();
      return { kind: 'withdrawn', snapshot: this.snapshot(), ticket };
    }
    if (request?.revoked && !(command.giveBack && isMeant)) {
      this.grantNext();
      return this.finished(request, command.attach);
    }
    if (request && command.giveBack && isMeant) {
      const answered =
        request.answered === command.attach &&
        request.returnable &&
        (!command.onlyUnheard || request.unheard);
      if (request.state === 'held' && !answered) return { kind: 'kept' };
      if (request.revoked) {
        this.bury(request, 'revoked');
        this.grantNext();
        return this.finished(request, command.attach);
      }
      if (request.state !== 'detached') this.detach(request);
    }
    this.grantNext();
    if (request && !command.giveBack) {
      if (request.state === 'offered') this.hold(request, command.attach);
      else if (request.state === 'held') request.until = Math.max(request.until, now + request.ttl);
      else if (request.state === 'waiting') this.detach(request);
      this.grantNext();
      if ((request.state as State) === 'held') return this.granted(request);
    }
    return { kind: 'withdrawn', snapshot: this.snapshot(), ticket };
  }

  touch(server: string, now: number, waiters: readonly CallRef[]): TouchReply {
    this.begin(server, now);
    if (waiters.length > 0 && this.limit !== undefined) this.alive.set(server, now);
    this.purge();
    for (const request of waiters.length > 0 ? this.in('offered') : []) {
      if (serverOf(request.attach) === server) this.tell(request);
    }
    this.grantNext();
    this.sweep();
    const words = waiters.map(({ requestId, attach }) => {
      const request = this.find(requestId);
      if (request && request.attach !== attach) return 'superseded';
      return request?.state === 'waiting' ? this.position(request) : 'recheck';
    });
    return { snapshot: this.snapshot(), waiters: words };
  }

  renew(server: string, now: number, command: RenewCommand): Unsent<RenewReply> {
    this.begin(server, now, command.requestId);
    this.purge();
    this.grantNext();
    const { stream } = command;
    const request = this.find(command.requestId);
    if (!request || !proves(command, request)) return { kind: 'gone' };
    if (request.state !== 'held' && request.state !== 'ended') return { kind: 'gone' };
    if (stream && request.attach !== stream.attach) {
      const mayTakeOver = stream.takeOver && !isAfter(request.attach, stream.attach);
      if (!mayTakeOver) return { kind: 'superseded' };
    }
    if (request.state === 'ended') return { kind: 'finished', cause: request.cause };
    if (request.revoked) return { kind: 'finished', cause: 'revoked' };
    const ttl = command.ttlMs === undefined ? 0 : micros(command.ttlMs);
    request.ttl = Math.max(request.ttl, ttl);
    request.metadata = command.metadata ?? request.metadata;
    if (stream?.takeOver && request.attach !== stream.attach) this.takeOver(request, stream.attach);
    else if (!stream) request.answered = '';
    request.until = Math.max(request.until, now + (ttl || request.ttl));
    this.grantNext();
    return this.granted(request);
  }

  /** As `renew` for the stream of a lease that is held. Otherwise nothing happens. */
  renewHeld(now: number, lease: Omit<LeaseToRenew, 'resource'>): Omit<Renewed, 'sentAt'> | undefined {
    const request = this.find(lease.requestId);
    if (!request || !proves(lease, request) || request.state !== 'held') return undefined;
    if (request.attach !== lease.attach || request.revoked || request.until <= now) return undefined;
    request.until = Math.max(request.until, now + request.ttl);
    request.unheard = false;
    return { remainingMs: (request.until - now) / 1000, ttlMs: request.ttl / 1000 };
  }

  release(server: string, now: number, command: ReleaseCommand): ReleaseReply {
    this.begin(server, now, command.requestId);
    this.purge();
    this.grantNext();
    const request = this.find(command.requestId);
    if (!request || !proves(command, request)) return { kind: 'gone' };
    if (request.state === 'ended') return { kind: 'finished', cause: request.cause };
    if (request.state !== 'held') return { kind: 'gone' };
    if (command.afterLoss && request.answered !== command.afterLoss.attach) return { kind: 'superseded' };
    this.bury(request, command.afterLoss ? 'expired' : 'released');
    if (!command.afterLoss && isStream(request.attach)) this.tell(request);
    this.grantNext();
    return { kind: 'released' };
  }

  setLimit(server: string, now: number, name: string, command: SetLimitCommand): Unsent<SetLimitReply> {
    this.begin(server, now);
    this.purge();
    const { limit: wish, expectedLimit } = command;
    const { limit: before, keptLimit: kept } = this;
    const isLimit = typeof wish === 'number';
    if (before === undefined && (expectedLimit !== undefined || !isLimit))
      return { kind: 'unknown-resource' };
    if (!isLimit && before === 0 && kept === undefined) return { kind: 'no-kept-limit' };
    const limit = isLimit ? wish : wish === 'pause' ? 0 : (kept ?? before ?? 0);
    if (expectedLimit !== undefined && before !== undefined && before !== expectedLimit && before !== limit) {
      return { kind: 'limit-mismatch', limit: before };
    }
    this.keptLimit = wish === 'pause' ? (kept ?? before) : undefined;
    this.limit = limit;
    if (before !== undefined && (limit < before || before === 0)) {
      if (limit < before && this.used > limit)
        for (const request of this.in('offered')) request.state = 'waiting';
      for (const request of this.queue()) {
        if (this.neverFits(request)) this.dismiss(request, true);
        else if (this.isSilent(serverOf(request.attach))) this.detach(request);
      }
    }
    this.grantNext();
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
    this.limit = this.keptLimit = undefined;
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
    const { limit, keptLimit } = this;
    return viewOf(this.requests, { name, limit, keptLimit, lastFencingToken: BigInt(this.lastToken) });
  }

  private position(request: ModelRequest): number {
    return this.queue().indexOf(request) + 1;
  }

  private waiting(request: ModelRequest): Unsent<Extract<AcquireReply, { kind: 'waiting' }>> {
    const ticket = String(request.ticket);
    return { kind: 'waiting', ticket, position: this.position(request), snapshot: this.snapshot() };
  }

  private finished(request: ModelRequest, attach: string): Finished {
    const { cause, token, revoked } = request;
    return {
      kind: 'finished',
      cause: revoked && request.state === 'held' ? 'revoked' : cause,
      ...(this.isReturnable(request, attach) && { returnable: BigInt(token) }),
    };
  }

  /** Only this call was answered with the lease of the request, so the call may not have reported the lease. */
  private isReturnable(request: ModelRequest, attach: string): boolean {
    if (request.revoked && request.state === 'ended') return false;
    return request.returnable && request.answered === attach && request.cause !== 'released';
  }

  /** The direct grants of the last command, in the order of the queue. */
  directGrants(): { readonly call: CallRef; readonly grant: Unsent<Granted> }[] {
    return this.direct.map((request) => ({
      call: { requestId: request.id, attach: request.attach },
      grant: this.grantOf(request),
    }));
  }

  private granted(request: ModelRequest): Unsent<Granted> {
    request.unheard = false;
    const { identity, clientRequestId } = request;
    return { ...this.grantOf(request), ...(identity !== '' && { clientRequestId }) };
  }

  private grantOf(request: ModelRequest): Unsent<Granted> {
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
    return queueSnapshotOf(this.requests, this.now, this.limit);
  }
}

/** True if the caller may renew and release the lease of the request. */
function proves(
  { secret, identity }: Pick<RenewCommand, 'secret' | 'identity'>,
  request: ModelRequest,
): boolean {
  return request.secret === secret && (request.identity === '' || request.identity === identity);
}
