import type {
  LeaseRenewal,
  OpenSessionResponse,
  SessionEvent as EventMessage,
} from '../../../generated/typescript/holdfast/v1/session_service';
import type { Duration } from '../../../generated/typescript/google/protobuf/duration';
import { HoldfastError } from '../../../src/base/errors';
import { expireOffsetMs, type LeaseEnd } from '../../../src/leases/lease';
import { Heartbeats } from '../../../src/leases/life';
import { defaultSessionLimits, type SessionEvent } from '../../../src/leases/sessions/session-requests';
import { SessionOutbox, type OutboxOptions } from '../../../src/leases/service/session-outbox';
import { msToDuration } from '../../../src/rpc/wire';
import { settled } from '../../support/manual-clock';
import { someLease } from '../fake-engines';
import { FakeSessionStream, summaryOf } from '../../support/leases/fake-session-stream';

/** One step in the life of an outbox. `id` is a command: the step picks the next event of this command. */
export type OutboxStep =
  | { readonly kind: 'say'; readonly id: number; readonly choice: number }
  | { readonly kind: 'heartbeat' }
  | { readonly kind: 'stop-reading' }
  | { readonly kind: 'read' }
  | { readonly kind: 'turn' };

interface Said {
  readonly id: number;
  readonly kind: SessionEvent['kind'];
}

/** A command and its lease, as the server knows them. */
interface Spoken {
  state: 'waiting' | 'held' | 'ended';
  end: LeaseEnd;
  ttlMs: number;
}

const TTL_MS = 30_000;
/** A newer event of the same command may replace these. */
const REPLACEABLE: readonly string[] = ['queued', 'renewal-failed'];

/** An outbox with a client that checks each message. */
export class CheckedOutbox {
  private readonly stream = new FakeSessionStream();
  private readonly heartbeats = new Heartbeats(1, 0, 15_000);
  private readonly outbox: SessionOutbox;
  private readonly commands = new Map<number, Spoken>();
  private readonly said: Said[] = [];
  /** The leases of the client, with their ttl (ms). */
  private readonly believed = new Map<number, number>();
  /** The number of events that the client has got and that were said, up to the last of them. */
  private heardUntil = 0;
  private lastHeartbeatId = 0;
  private now = 0;

  constructor() {
    this.outbox = new SessionOutbox({
      stream: this.stream as unknown as OutboxOptions['stream'],
      limits: defaultSessionLimits,
      summaryOf,
      onTooManyRefusals: () => undefined,
      onSent: () => this.hear(this.stream.sent.splice(0)),
    });
    this.outbox.start(this.heartbeats);
  }

  async step(step: OutboxStep): Promise<void> {
    this.now += 10;
    switch (step.kind) {
      case 'say':
        this.say(step.id, step.choice);
        break;
      case 'heartbeat':
        this.heartbeats.receive(this.heartbeats.id + 1, this.now);
        this.outbox.echo();
        break;
      case 'stop-reading':
        this.stream.reads = false;
        break;
      case 'read':
        this.stream.read();
        break;
      case 'turn':
        await settled();
    }
    const lasting = this.said.slice(this.heardUntil).filter(({ kind }) => !REPLACEABLE.includes(kind));
    expect(this.outbox.waitingCount).toBeLessThanOrEqual(lasting.length + this.commands.size);
  }

  /** The client reads all, and knows what the server knows. */
  async finish(): Promise<void> {
    const held = [...this.commands].filter(([, { state }]) => state === 'held');
    // A changed ttl comes with the next renewal.
    for (const [id, { end }] of held) this.outbox.send({ commandId: id, kind: 'renewed', end });
    this.stream.read();
    for (let turn = 0; turn < 10; turn += 1) await settled();
    expect(this.outbox.waitingCount).toBe(0);
    this.expectHeardUntil(this.said.length);
    expect(this.believed).toEqual(new Map(held.map(([id, { ttlMs }]) => [id, ttlMs])));
    expect(this.lastHeartbeatId).toBe(this.heartbeats.id);
  }

  private say(id: number, choice: number): void {
    const command = this.command(id);
    const end = { sentAt: this.now, remainingMs: TTL_MS };
    const held = (kind: 'renewed' | 'renewal-failed' | 'ended' | 'new-ttl'): SessionEvent => {
      if (kind === 'ended') return { commandId: id, kind, cause: 'expired' };
      if (kind === 'renewal-failed') {
        return { commandId: id, kind, end: command.end, cause: 'store-unavailable' };
      }
      command.end = end;
      if (kind === 'renewed') return { commandId: id, kind, end };
      command.ttlMs += 1;
      return { commandId: id, kind: 'renewed', end, newTtlMs: command.ttlMs };
    };
    const waiting = (kind: 'queued' | 'granted' | 'cancelled' | 'failed'): SessionEvent => {
      switch (kind) {
        case 'queued':
          return { commandId: id, kind, position: 1, waiterCount: 1, holder: undefined };
        case 'granted':
          command.end = end;
          return { commandId: id, kind, lease: { ...someLease, ttlMs: TTL_MS, end } };
        case 'cancelled':
          return { commandId: id, kind };
        case 'failed':
          return { commandId: id, kind, error: new HoldfastError('CONTENDED', 'taken') };
      }
    };
    let event: SessionEvent;
    if (command.state === 'ended') return;
    if (command.state === 'held')
      event = held(pick(['renewed', 'renewal-failed', 'new-ttl', 'renewed', 'ended'], choice));
    else
      event = waiting(
        pick(['queued', 'queued', 'granted', 'granted', 'granted', 'cancelled', 'failed'], choice),
      );
    if (event.kind === 'granted') command.state = 'held';
    if (['ended', 'cancelled', 'failed'].includes(event.kind)) command.state = 'ended';
    if (event.kind !== 'renewed') this.said.push({ id, kind: event.kind });
    this.outbox.send(event);
  }

  private command(id: number): Spoken {
    let command = this.commands.get(id);
    if (command === undefined) {
      command = { state: 'waiting', end: { sentAt: 0, remainingMs: 0 }, ttlMs: TTL_MS };
      this.commands.set(id, command);
    }
    return command;
  }

  private hear(messages: readonly OpenSessionResponse[]): void {
    for (const { heartbeatId, events, renewals } of messages) {
      expect(Number(heartbeatId)).toBe(this.heartbeats.id);
      expect(Number(heartbeatId)).toBeGreaterThanOrEqual(this.lastHeartbeatId);
      this.lastHeartbeatId = Number(heartbeatId);
      for (const event of events) this.hearEvent(event);
      for (const renewal of renewals) this.hearRenewal(renewal);
    }
  }

  private hearEvent({ commandId, event }: EventMessage): void {
    const id = Number(commandId);
    const kind = event?.$case === 'renewalFailed' ? 'renewal-failed' : event?.$case;
    const from = this.heardUntil;
    const found = this.said.findIndex((one, index) => index >= from && one.id === id && one.kind === kind);
    expect([id, kind, found]).toEqual([id, kind, expect.any(Number)]);
    expect(found).toBeGreaterThanOrEqual(from);
    // Of equal positions in a row, the client gets the last.
    const last = this.isReplaceable(found) ? this.lastOfRow(found) : found;
    this.expectHeardUntil(last);
    this.heardUntil = last + 1;
    if (event?.$case === 'granted') {
      this.believed.set(id, TTL_MS);
      expect(event.value.lease?.expireOffset).toEqual(this.offsetOf(id));
    }
    if (event?.$case === 'ended') this.believed.delete(id);
  }

  private hearRenewal({ leaseNumber, expireOffset, ttl }: LeaseRenewal): void {
    const id = Number(leaseNumber);
    expect(this.believed.has(id)).toBe(true);
    expect(expireOffset).toEqual(this.offsetOf(id));
    if (ttl !== undefined) this.believed.set(id, Number(ttl.seconds) * 1000 + ttl.nanos / 1e6);
  }

  /** The offset of the latest end, from the receipt of the latest heartbeat. */
  private offsetOf(id: number): Duration {
    return msToDuration(expireOffsetMs(this.heartbeats.lastAt, this.command(id).end));
  }

  private isReplaceable(index: number): boolean {
    return REPLACEABLE.includes(this.said[index]?.kind ?? '');
  }

  /** The last event of the same kind and command, before another event of the command. */
  private lastOfRow(index: number): number {
    const { id, kind } = this.said[index] as Said;
    const rest = this.said.slice(index);
    const other = rest.findIndex((one) => one.id === id && one.kind !== kind);
    const row = rest.slice(0, other === -1 ? rest.length : other);
    return index + row.findLastIndex((one) => one.id === id);
  }

  /** Expects that only replaced events before this one are missing. */
  private expectHeardUntil(index: number): void {
    this.said.slice(this.heardUntil, index).forEach((one, offset) => {
      const later = this.said.slice(this.heardUntil + offset + 1);
      expect([one, REPLACEABLE.includes(one.kind)]).toEqual([one, true]);
      expect([one, later.some(({ id }) => id === one.id)]).toEqual([one, true]);
    });
  }
}

function pick<Value>(values: readonly Value[], choice: number): Value {
  return values[choice % values.length] as Value;
}
