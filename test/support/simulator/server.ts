import type { Micros } from '../history';
import {
  type AcquireReply,
  type Answer,
  type ClientCall,
  expireOffset,
  type LeaseCallMessage,
  type LeaseReply,
  type OpenCall,
  StoreCommands,
  type Stream,
} from './messages';
import { type IsBroken, type ManualLoop, SimProcess } from './loop';
import { Renewals, Touches } from './renewals';
import type { StoreMessage } from './resource';
import type { SimStore } from './store';

const SECOND: Micros = 1_000_000;

/** The links of a server. The network adds delays and losses. */
export interface ServerNetwork {
  toStore(server: SimServer, script: () => void): void;
  fromStore(server: SimServer, deliver: () => void): void;
  toClient(server: SimServer, call: ClientCall, answer: Answer): void;
}

/** A server by the rules of `docs/design/leases.md`, with one attach value per call. */
export class SimServer extends SimProcess {
  readonly streams = new Map<string, Stream>();
  private readonly commands: StoreCommands;
  private readonly renewals: Renewals;
  private readonly touches: Touches;
  private attachCount = 0;

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
    this.renewals = new Renewals(this, this.commands, store, isBroken);
    this.touches = new Touches(this, this.commands, store, isBroken);
  }

  get now(): Micros {
    return this.loop.now;
  }

  open(call: OpenCall): void {
    this.attachCount += 1;
    const stream: Stream = {
      call,
      attachment: { attach: `${this.name}/${this.attachCount}`, server: this.name },
      openedAt: this.loop.now,
      state: 'asking',
      ticket: null,
      lease: null,
      confirmedEnd: 0,
      unconfirmed: false,
    };
    this.streams.set(call.id, stream);
    if (call.rpc === 'attach') this.attach(stream);
    else this.acquire(stream);
    if (call.waitTimeoutUs !== null && call.waitTimeoutUs > 0 && call.rpc !== 'attach') {
      this.after(call.waitTimeoutUs, () => this.endWait(stream));
    }
  }

  /** Ends a call with a broken connection. The lease lives on, because its holder may be alive. */
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
        const expireOffsetUs = expireOffset(openedAt, sentAt, reply.remainingUs);
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

  /** Handles a pub/sub message. Messages are hints: they may be late or lost. */
  notified(message: StoreMessage): void {
    const at = this.loop.now;
    for (const stream of this.streams.values()) {
      if (stream.call.requestId !== message.requestId) continue;
      if (message.kind === 'offer' && stream.state === 'waiting') this.claim(stream, at);
      if (message.kind === 'ended' && stream.state === 'held') this.released(stream);
    }
  }

  acquire(stream: Stream): void {
    const { name, requestId, permits, ttlUs, waitTimeoutUs } = stream.call;
    const { attachment, ticket } = stream;
    const mode = { queue: waitTimeoutUs !== 0, stream: stream.call.rpc === 'hold', attachment, ticket };
    this.commands.sendGranting(
      () => this.store.acquire({ name, requestId, permits, ttlUs, ...mode }),
      (reply, sentAt) => this.onAcquired(stream, reply, sentAt),
      () => {
        if (stream.state === 'over') return;
        this.detach(stream);
        this.end(stream, 'UNAVAILABLE', 'OUTCOME_UNKNOWN');
      },
    );
  }

  claim(stream: Stream, messageAt: Micros): void {
    stream.state = 'asking';
    const { name, requestId } = stream.call;
    this.commands.sendGranting(
      () => this.store.claim(name, requestId, stream.attachment),
      (reply, sentAt) => {
        if (this.isBroken('offset_from_pubsub') && reply.state === 'held') {
          this.onAcquired(stream, { ...reply, remainingUs: reply.ttlUs }, messageAt);
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
      () => this.store.withdraw(name, requestId, stream.attachment),
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
        this.touches.start(stream.call.name, reply.nextEndInUs);
        return;
      case 'refused':
        return this.end(stream, 'ABORTED', 'CONTENDED');
      case 'finished':
        return this.end(stream, 'FAILED_PRECONDITION', 'REQUEST_FINISHED');
      case 'superseded':
        return this.end(stream, 'ABORTED', 'SUPERSEDED');
      case 'gone':
        return this.acquire(stream);
    }
  }

  private attach(stream: Stream): void {
    this.commands.sendGranting(
      () => this.store.attach(stream.call.leaseId ?? '', stream.attachment),
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
    const expireOffsetUs = expireOffset(stream.openedAt, sentAt, lease.remainingUs);
    if (this.isBroken('late_from_buffer')) {
      const remaining = lease.remainingUs;
      return this.after(lease.ttlUs / 2, () => {
        this.deliver(stream, lease, expireOffset(stream.openedAt, this.loop.now, remaining));
      });
    }
    if (this.isBroken('dead_from_buffer')) {
      return this.after(1.5 * lease.ttlUs, () => this.deliver(stream, lease, expireOffsetUs));
    }
    if (stream.openedAt + expireOffsetUs > this.loop.now) {
      return this.deliver(stream, lease, expireOffsetUs);
    }
    // A grant after its end is not delivered. The wait continues.
    if (lease.known) return this.end(stream, 'UNAVAILABLE', 'REATTACH');
    stream.state = 'waiting';
    this.giveBack(stream, true);
    this.touches.start(stream.call.name, Infinity);
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
    this.renewals.start(stream, lease);
  }

  released(stream: Stream): void {
    this.answer(stream.call, { type: 'released', lease: stream.lease?.leaseId ?? '' });
    this.end(stream, 'OK', null);
  }

  private detach(stream: Stream): void {
    const { name, requestId } = stream.call;
    this.commands.send(() => this.store.detach(name, requestId, stream.attachment));
  }

  private giveBack(stream: Stream, isCallOpen: boolean): void {
    const { name, requestId } = stream.call;
    this.commands.send(() => this.store.giveBack(name, requestId, stream.attachment, isCallOpen));
  }

  end(stream: Stream, code: string, reason: string | null): void {
    stream.state = 'over';
    if (!this.isBroken('stream_kept')) this.streams.delete(stream.call.id);
    this.answerEnd(stream.call, code, reason);
  }

  answer(call: ClientCall, answer: Answer): void {
    this.network.toClient(this, call, answer);
  }

  private answerEnd(call: ClientCall, code: string, reason: string | null): void {
    this.answer(call, { type: 'ended', code, reason });
  }
}
