import type { LossCause, Micros } from '../history';
import { COMMAND_TIMEOUT, StoreCommands } from './commands';
import type { ManualLoop } from './loop';
import type { Answer, LeaseCallMessage, OpenCall } from './messages';
import type { IsBroken } from './mutations';
import { SimProcess } from './process';
import type { Speaker } from './resource';
import type { AcquireReply, LeaseReply, RenewReply, SimStore } from './store';

/** Clocks may differ in rate by this much; every span that is promised is cut by it. */
const RATE = 0.0005;
const SECOND: Micros = 1_000_000;

/** How a server reaches the others; the delays and losses on the way are the world's. */
export interface ServerNetwork {
  toStore(server: SimServer, script: () => void): void;
  fromStore(server: SimServer, deliver: () => void): void;
  toClient(server: SimServer, call: { id: string; client: SimProcess }, answer: Answer): void;
}

interface Stream {
  readonly call: OpenCall;
  readonly speaker: Speaker;
  /** When the handler of this call began: what every offset is counted from. */
  readonly openedAt: Micros;
  state: 'asking' | 'waiting' | 'held' | 'over';
  ticket: number | null;
  lease: LeaseReply | null;
  /** The end that the last answered renewal confirmed, on this server's clock. */
  confirmedEnd: Micros;
  /** A renewal was sent and not answered yet. */
  unconfirmed: boolean;
}

export class SimServer extends SimProcess {
  readonly streams = new Map<string, Stream>();
  private readonly touching = new Set<string>();
  private readonly commands: StoreCommands;
  private attaches = 0;

  constructor(
    name: string,
    loop: ManualLoop,
    private readonly store: SimStore,
    private readonly network: ServerNetwork,
    private readonly isBroken: IsBroken,
  ) {
    super(name, loop);
    this.commands = new StoreCommands(loop, {
      toStore: (script) => network.toStore(this, script),
      fromStore: (deliver) => network.fromStore(this, deliver),
      after: (delay, work) => this.after(delay, work),
    });
  }

  open(call: OpenCall): void {
    this.attaches += 1;
    const stream: Stream = {
      call,
      speaker: { attach: `${this.name}/${this.attaches}`, server: this.name },
      openedAt: this.loop.now,
      state: 'asking',
      ticket: null,
      lease: null,
      confirmedEnd: 0,
      unconfirmed: false,
    };
    this.streams.set(call.id, stream);
    if (call.rpc === 'attach') this.attachTo(stream);
    else this.ask(stream);
    if (call.waitTimeoutUs !== null && call.waitTimeoutUs > 0 && call.rpc !== 'attach') {
      this.after(call.waitTimeoutUs, () => this.endWait(stream));
    }
  }

  /** The connection under a call broke. That proves nothing about the client, so a lease lives on. */
  cancelled(callId: string): void {
    const stream = this.streams.get(callId);
    if (stream === undefined || stream.state === 'over') return;
    if (stream.state === 'held') {
      const leaseId = stream.lease?.leaseId ?? '';
      if (this.isBroken('stale_stream_releases')) this.commands.send(() => this.store.release(leaseId));
    } else {
      this.detach(stream);
    }
    stream.state = 'over';
    if (!this.isBroken('stream_kept')) this.streams.delete(callId);
  }

  renew(call: LeaseCallMessage): void {
    const openedAt = this.loop.now;
    this.commands.send(
      () => this.store.renew(call.leaseId, call.ttlUs, null),
      (reply, sentAt) => {
        if (reply.state !== 'held') return this.answerEnd(call, 'NOT_FOUND', 'LEASE_NOT_HELD');
        const expireOffsetUs = offset(openedAt, sentAt, reply.remainingUs);
        this.answer(call, { type: 'renewed', lease: call.leaseId, ttlUs: reply.ttlUs, expireOffsetUs });
        this.answerEnd(call, 'OK', null);
      },
      () => this.answerEnd(call, 'UNAVAILABLE', 'OUTCOME_UNKNOWN'),
    );
  }

  release(call: LeaseCallMessage): void {
    this.commands.send(
      () => this.store.release(call.leaseId),
      ({ released, cause }) => {
        this.answer(call, { type: 'release_answered', lease: call.leaseId, released, lossCause: cause });
        this.answerEnd(call, 'OK', null);
      },
      () => this.answerEnd(call, 'UNAVAILABLE', 'OUTCOME_UNKNOWN'),
    );
  }

  /** A message of the store: a hint that may be late or never come. */
  notified(message: { kind: 'offer' | 'ended'; requestId: string }): void {
    const at = this.loop.now;
    for (const stream of this.streams.values()) {
      if (stream.call.requestId !== message.requestId) continue;
      if (message.kind === 'offer' && stream.state === 'waiting') this.claim(stream, at);
      if (message.kind === 'ended' && stream.state === 'held') this.released(stream);
    }
  }

  private ask(stream: Stream): void {
    const { name, requestId, permits, ttlUs, waitTimeoutUs } = stream.call;
    const { speaker, ticket } = stream;
    const how = { queue: waitTimeoutUs !== 0, stream: stream.call.rpc === 'hold', speaker, ticket };
    this.commands.sendGranting(
      () => this.store.acquire({ name, requestId, permits, ttlUs, ...how }),
      (reply, sentAt) => this.onAcquired(stream, reply, sentAt),
      () => {
        if (stream.state === 'over') return;
        this.detach(stream);
        this.end(stream, 'UNAVAILABLE', 'OUTCOME_UNKNOWN');
      },
    );
  }

  private claim(stream: Stream, heardAt: Micros): void {
    stream.state = 'asking';
    const { name, requestId } = stream.call;
    this.commands.sendGranting(
      () => this.store.claim(name, requestId, stream.speaker),
      (reply, sentAt) => {
        if (this.isBroken('offset_from_pubsub') && reply.state === 'held') {
          this.onAcquired(stream, { ...reply, remainingUs: reply.ttlUs }, heardAt);
        } else {
          this.onAcquired(stream, reply, sentAt);
        }
      },
      () => {
        if (stream.state === 'asking') stream.state = 'waiting';
      },
    );
  }

  private endWait(stream: Stream): void {
    if (stream.state === 'asking') return this.after(SECOND / 20, () => this.endWait(stream));
    if (stream.state !== 'waiting') return;
    stream.state = 'asking';
    const { name, requestId } = stream.call;
    this.commands.send(
      () => this.store.withdraw(name, requestId, stream.speaker),
      (reply, sentAt) => this.onAcquired(stream, reply, sentAt),
      () => {
        if (stream.state === 'over') return;
        this.detach(stream);
        this.end(stream, 'UNAVAILABLE', 'OUTCOME_UNKNOWN');
      },
    );
  }

  private onAcquired(stream: Stream, reply: AcquireReply, sentAt: Micros): void {
    if (stream.state === 'over') {
      if (reply.state === 'held' && !reply.known) this.giveBack(stream, false);
      return;
    }
    switch (reply.state) {
      case 'held':
        return this.grant(stream, reply, sentAt);
      case 'queued':
        stream.state = 'waiting';
        stream.ticket = reply.ticket;
        if (stream.call.rpc === 'hold') {
          this.answer(stream.call, { type: 'queued', position: reply.position });
        }
        this.touchFrom(stream.call.name, reply.inUs);
        return;
      case 'refused':
        return this.end(stream, 'ABORTED', 'CONTENDED');
      case 'finished':
        return this.end(stream, 'FAILED_PRECONDITION', 'REQUEST_FINISHED');
      case 'superseded':
        return this.end(stream, 'ABORTED', 'SUPERSEDED');
      case 'gone':
        return this.ask(stream);
    }
  }

  private attachTo(stream: Stream): void {
    this.commands.sendGranting(
      () => this.store.attach(stream.call.leaseId ?? '', stream.speaker),
      (reply, sentAt) => {
        if (stream.state === 'over') return;
        if (reply.state === 'held') this.grant(stream, reply, sentAt);
        else this.end(stream, 'NOT_FOUND', 'LEASE_NOT_HELD');
      },
      () => {
        if (stream.state !== 'over') this.end(stream, 'UNAVAILABLE', 'OUTCOME_UNKNOWN');
      },
    );
  }

  private grant(stream: Stream, lease: LeaseReply, sentAt: Micros): void {
    const expireOffsetUs = offset(stream.openedAt, sentAt, lease.remainingUs);
    if (this.isBroken('late_from_buffer')) {
      const remaining = lease.remainingUs;
      return this.after(lease.ttlUs / 2, () => {
        this.deliver(stream, lease, offset(stream.openedAt, this.loop.now, remaining));
      });
    }
    if (this.isBroken('dead_from_buffer')) {
      return this.after(1.5 * lease.ttlUs, () => this.deliver(stream, lease, expireOffsetUs));
    }
    if (stream.openedAt + expireOffsetUs > this.loop.now) {
      return this.deliver(stream, lease, expireOffsetUs);
    }
    // Its end has come: it is not delivered, and the wait goes on.
    if (lease.known) return this.end(stream, 'UNAVAILABLE', 'REATTACH');
    stream.state = 'waiting';
    this.giveBack(stream, true);
    this.touchFrom(stream.call.name, Infinity);
  }

  private deliver(stream: Stream, lease: LeaseReply, expireOffsetUs: Micros): void {
    const { requestId, leaseId, token, permits, ttlUs } = lease;
    stream.state = 'held';
    stream.lease = lease;
    stream.confirmedEnd = stream.openedAt + expireOffsetUs;
    this.answer(stream.call, {
      type: 'granted',
      lease: leaseId,
      permitCount: permits,
      ...{ requestId, token, ttlUs, expireOffsetUs },
    });
    if (stream.call.rpc === 'acquire') return this.end(stream, 'OK', null);
    this.renewLater(stream, Math.min(ttlUs / 3, 10 * SECOND));
    this.watchEnd(stream);
  }

  private renewLater(stream: Stream, delay: Micros): void {
    this.after(delay, () => {
      const { lease } = stream;
      if (stream.state !== 'held' || lease === null) return;
      stream.unconfirmed = true;
      this.commands.send(
        () => this.store.renew(lease.leaseId, null, stream.speaker.attach),
        (reply, sentAt) => this.onRenewed(stream, lease, reply, sentAt),
        () => this.onRenewalFailed(stream, lease),
        Math.min(lease.ttlUs / 6, COMMAND_TIMEOUT),
      );
    });
  }

  private onRenewed(stream: Stream, lease: LeaseReply, reply: RenewReply, sentAt: Micros): void {
    if (stream.state !== 'held') return;
    if (reply.state === 'superseded') return this.end(stream, 'ABORTED', 'SUPERSEDED');
    if (reply.state === 'ended') {
      if (reply.cause === 'RELEASED') this.released(stream);
      else this.lost(stream, reply.cause ?? 'STORE_RESET');
      return;
    }
    const expireOffsetUs = offset(stream.openedAt, sentAt, reply.remainingUs);
    stream.unconfirmed = false;
    stream.confirmedEnd = Math.max(stream.confirmedEnd, stream.openedAt + expireOffsetUs);
    this.answer(stream.call, { type: 'renewed', lease: lease.leaseId, ttlUs: reply.ttlUs, expireOffsetUs });
    this.renewLater(stream, Math.min(lease.ttlUs / 3, 10 * SECOND));
  }

  /** A failed renewal is not a lost lease: it is tried again until the last confirmed end. */
  private onRenewalFailed(stream: Stream, lease: LeaseReply): void {
    if (stream.state !== 'held') return;
    if (this.isBroken('failed_renewal_is_loss')) return this.lost(stream, 'STORE_UNAVAILABLE');
    this.answer(stream.call, { type: 'renewal_failed', lease: lease.leaseId, cause: 'STORE_UNAVAILABLE' });
    this.renewLater(stream, Math.min(lease.ttlUs / 20, SECOND / 5));
  }

  private watchEnd(stream: Stream): void {
    this.after(stream.confirmedEnd - this.loop.now, () => {
      if (stream.state !== 'held') return;
      if (stream.confirmedEnd > this.loop.now) return this.watchEnd(stream);
      this.lost(stream, stream.unconfirmed ? 'STORE_UNAVAILABLE' : 'EXPIRED');
    });
  }

  private lost(stream: Stream, cause: LossCause): void {
    if (this.isBroken('swallowed_lost')) {
      stream.state = 'over';
      return;
    }
    this.answer(stream.call, { type: 'lost', lease: stream.lease?.leaseId ?? '', cause });
    this.end(stream, 'ABORTED', 'LEASE_LOST');
  }

  private released(stream: Stream): void {
    this.answer(stream.call, { type: 'released', lease: stream.lease?.leaseId ?? '' });
    this.end(stream, 'OK', null);
  }

  /** As long as somebody waits for a name here, the store hears of it every second. */
  private touchFrom(name: string, inUs: Micros): void {
    if (!this.touching.has(name)) {
      this.touching.add(name);
      this.touchEvery(name, this.isBroken('slow_expiry') ? 3.5 * SECOND : SECOND);
    }
    this.touchAtEnd(name, inUs);
  }

  private touchEvery(name: string, interval: Micros): void {
    this.after(interval, () => {
      const asking = [...this.streams.values()].some(
        ({ call, state }) => call.name === name && isWaiting(state),
      );
      if (!asking) {
        this.touching.delete(name);
        return;
      }
      this.touch(name);
      this.touchEvery(name, interval);
    });
  }

  /** Once more when the earliest lease ends, so that an expiry is seen at once. */
  private touchAtEnd(name: string, inUs: Micros): void {
    if (inUs <= SECOND && !this.isBroken('slow_expiry')) {
      this.after(Math.max(0, inUs) + 1_000, () => this.touch(name));
    }
  }

  private touch(name: string): void {
    const waiting = this.waitingFor(name);
    if (waiting.length === 0) return;
    const attaches = new Map(waiting.map(({ call, speaker }) => [call.requestId, speaker.attach]));
    this.commands.sendGranting(
      () => this.store.touch(name, this.name, attaches),
      (reply) => {
        for (const stream of waiting.filter((one) => one.state === 'waiting')) {
          const { requestId } = stream.call;
          // Of two calls of one request here the newer one was asked about.
          if (attaches.get(requestId) !== stream.speaker.attach) this.end(stream, 'ABORTED', 'SUPERSEDED');
          else if (reply.superseded.includes(requestId)) this.end(stream, 'ABORTED', 'SUPERSEDED');
          else if (reply.gone.includes(requestId)) this.ask(stream);
          else if (reply.offers.includes(requestId) && !this.isBroken('pubsub_only_wake_up')) {
            this.claim(stream, this.loop.now);
          }
        }
        this.touchAtEnd(name, reply.inUs);
      },
    );
  }

  private waitingFor(name: string): Stream[] {
    return [...this.streams.values()].filter(({ call, state }) => call.name === name && state === 'waiting');
  }

  private detach(stream: Stream): void {
    const { name, requestId } = stream.call;
    this.commands.send(() => this.store.detach(name, requestId, stream.speaker));
  }

  private giveBack(stream: Stream, callLives: boolean): void {
    const { name, requestId } = stream.call;
    this.commands.send(() => this.store.giveBack(name, requestId, stream.speaker, callLives));
  }

  private end(stream: Stream, code: string, reason: string | null): void {
    stream.state = 'over';
    if (!this.isBroken('stream_kept')) this.streams.delete(stream.call.id);
    this.answerEnd(stream.call, code, reason);
  }

  private answer(call: { id: string; client: SimProcess }, answer: Answer): void {
    this.network.toClient(this, call, answer);
  }

  private answerEnd(call: { id: string; client: SimProcess }, code: string, reason: string | null): void {
    this.answer(call, { type: 'ended', code, reason });
  }
}

/** Counted from when the handler began, through the sending of the very command that was answered. */
function offset(openedAt: Micros, sentAt: Micros, remainingUs: Micros): Micros {
  return Math.floor((sentAt - openedAt + remainingUs) * (1 - RATE));
}

/** With a claim or a withdrawal in flight a stream still waits: it may come back empty. */
function isWaiting(state: Stream['state']): boolean {
  return state === 'waiting' || state === 'asking';
}
