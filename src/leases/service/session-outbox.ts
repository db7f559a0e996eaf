import type { ServerDuplexStream } from '@grpc/grpc-js';
import { OnceATurn } from '../../flow/turns';
import type { OpenSessionResponse } from '../../../generated/typescript/holdfast/v1/session_service';
import type { LeaseEnd } from '../lease';
import type { Heartbeats } from '../life';
import type { SessionEvent, SessionLimits, SessionSink } from '../sessions/session-requests';
import { msToDuration } from '../../rpc/wire';
import {
  type ClientEvent,
  eventMessage,
  renewalMessage,
  startedMessage,
  type SummaryOf,
} from './lease-messages';

/** An event has at most 8 KiB, so a message has at most 1 MiB. */
const MOST_EVENTS = 128;
/** A renewal has at most 40 bytes. */
const MOST_RENEWALS = 4096;
/** More unsent refusals end the session. */
const MOST_REFUSALS = 1000;

export interface OutboxOptions {
  readonly stream: Pick<ServerDuplexStream<unknown, OpenSessionResponse>, 'write' | 'on'>;
  readonly limits: SessionLimits;
  readonly summaryOf: SummaryOf;
  /** Called when more refusals wait than the client may leave unread. */
  readonly onTooManyRefusals: () => void;
  /** Called after a message: fewer events wait. */
  readonly onSent: () => void;
}

/**
 * Sends the messages of one session. All events and renewals of one turn of the event loop are sent in one message.
 * While the client reads slowly, a newer renewal or position replaces the older one. The ends of leases wait as times
 * of this server. Their offsets are computed when the message is made, because the offsets count from the heartbeat
 * that the message names.
 */
export class SessionOutbox implements SessionSink {
  /** Undefined: the session has not begun, and nothing is sent. */
  private heartbeats: Heartbeats | undefined;
  /** The events that wait, in order, by a number that rises. */
  private readonly events = new Map<number, ClientEvent>();
  private eventCount = 0;
  /** The waiting events that a newer event of their command replaces: the number of the event, by command. */
  private readonly replaceable = new Map<number, number>();
  /** The grants that wait: the number of the event, by command. */
  private readonly grants = new Map<number, number>();
  /** The renewals that wait: the end of the lease, by lease. */
  private readonly renewals = new Map<number, LeaseEnd>();
  /** The changed ttls that no sent renewal contains yet, by lease (ms). */
  private readonly newTtls = new Map<number, number>();
  private leavingMs: number | undefined;
  private refusalCount = 0;
  private isStarted = false;
  /** The messages so far. */
  sentCount = 0;
  private readonly next = new OnceATurn(() => this.sendAll());
  private isFull = false;
  private isClosed = false;
  /** Whether a message must be sent, even if the message has only the heartbeat id. */
  private mustEcho = false;

  constructor(private readonly options: OutboxOptions) {
    options.stream.on('drain', () => {
      this.isFull = false;
      this.sendSoon();
    });
  }

  /** The number of events that wait. */
  get waitingCount(): number {
    return this.events.size;
  }

  /** True: the client has not read the messages that were sent. */
  get isStuck(): boolean {
    return this.isFull;
  }

  /** Begins the session. The first message has `started`. */
  start(heartbeats: Heartbeats): void {
    this.heartbeats = heartbeats;
    this.sendSoon();
  }

  /** A heartbeat has arrived. */
  echo(): void {
    this.mustEcho = true;
    this.sendSoon();
  }

  send(event: SessionEvent): void {
    if (event.kind === 'renewed') return this.renewed(event.commandId, event.end, event.newTtlMs);
    const { commandId, kind } = event;
    // A renewal after the end of a lease would be about an unknown lease.
    if (kind === 'ended' || kind === 'renewal-failed') this.renewals.delete(commandId);
    if (kind === 'ended') this.newTtls.delete(commandId);
    const stale = this.replaceable.get(commandId);
    if (stale !== undefined) this.events.delete(stale);
    this.replaceable.delete(commandId);
    this.eventCount += 1;
    this.events.set(this.eventCount, event);
    if (kind === 'queued' || kind === 'renewal-failed') this.replaceable.set(commandId, this.eventCount);
    if (kind === 'granted') this.grants.set(commandId, this.eventCount);
    if (kind === 'failed') this.countRefusal();
    this.sendSoon();
  }

  leave(retryDelayMs: number): void {
    this.leavingMs = retryDelayMs;
    this.sendSoon();
  }

  /** Sends all that waits. Must be called before the status is sent. */
  finish(): void {
    const { heartbeats } = this;
    while (heartbeats !== undefined && !this.isClosed && this.hasNews) this.sendOne(heartbeats);
    this.close();
  }

  /** Drops all that waits. */
  close(): void {
    this.isClosed = true;
    this.events.clear();
    this.replaceable.clear();
    this.grants.clear();
    this.renewals.clear();
    this.newTtls.clear();
  }

  private renewed(leaseNumber: number, end: LeaseEnd, newTtlMs: number | undefined): void {
    this.prolongUnsentGrant(leaseNumber, end);
    this.renewals.set(leaseNumber, end);
    if (newTtlMs !== undefined) this.newTtls.set(leaseNumber, newTtlMs);
    this.sendSoon();
  }

  /**
   * Moves the end in a waiting grant. With the old end the grant would seem to come too late, and the client would
   * release the lease.
   */
  private prolongUnsentGrant(leaseNumber: number, end: LeaseEnd): void {
    const number = this.grants.get(leaseNumber);
    const event = number === undefined ? undefined : this.events.get(number);
    if (number === undefined || event?.kind !== 'granted') return;
    this.events.set(number, { ...event, lease: { ...event.lease, end } });
  }

  private countRefusal(): void {
    this.refusalCount += 1;
    if (this.refusalCount > MOST_REFUSALS && this.isFull) this.options.onTooManyRefusals();
  }

  private sendSoon(): void {
    if (this.isFull || this.isClosed || this.heartbeats === undefined) return;
    this.next.soon();
  }

  private sendAll(): void {
    const { heartbeats } = this;
    if (this.isFull || this.isClosed || heartbeats === undefined || !this.hasMore) return;
    this.sendOne(heartbeats);
    if (this.events.size + this.renewals.size > 0) this.sendSoon();
    this.options.onSent();
  }

  private get hasMore(): boolean {
    return this.mustEcho || !this.isStarted || this.hasNews;
  }

  private get hasNews(): boolean {
    return this.events.size + this.renewals.size > 0 || this.leavingMs !== undefined;
  }

  private sendOne(heartbeats: Heartbeats): void {
    const { stream, limits, summaryOf } = this.options;
    const { id, lastAt } = heartbeats;
    const events = this.takeEvents();
    // A grant must come before the renewals of its lease.
    const renewals = this.events.size > 0 ? [] : takeFirst(this.renewals, MOST_RENEWALS);
    const message: OpenSessionResponse = {
      started: this.isStarted ? undefined : startedMessage(limits),
      heartbeatInterval: this.isStarted ? undefined : msToDuration(limits.heartbeatIntervalMs),
      heartbeatId: BigInt(id),
      events: events.map((event) => eventMessage(event, lastAt, summaryOf)),
      renewals: renewals.map(([number, end]) => renewalMessage(number, end, this.takeNewTtl(number), lastAt)),
      leaving: this.leavingMs === undefined ? undefined : { retryDelay: msToDuration(this.leavingMs) },
    };
    this.isStarted = true;
    this.sentCount += 1;
    this.mustEcho = false;
    this.leavingMs = undefined;
    this.isFull = !stream.write(message);
  }

  private takeNewTtl(leaseNumber: number): number | undefined {
    const newTtlMs = this.newTtls.get(leaseNumber);
    this.newTtls.delete(leaseNumber);
    return newTtlMs;
  }

  private takeEvents(): readonly ClientEvent[] {
    return takeFirst(this.events, MOST_EVENTS).map(([number, event]) => {
      if (this.replaceable.get(event.commandId) === number) this.replaceable.delete(event.commandId);
      this.grants.delete(event.commandId);
      if (event.kind === 'failed') this.refusalCount -= 1;
      return event;
    });
  }
}

/** Takes the first entries out of a map. */
function takeFirst<Key, Value>(map: Map<Key, Value>, most: number): [Key, Value][] {
  const taken: [Key, Value][] = [];
  for (const entry of map) {
    if (taken.length === most) break;
    taken.push(entry);
    map.delete(entry[0]);
  }
  return taken;
}
