import { randomUUID } from 'node:crypto';
import { status } from '@grpc/grpc-js';
import { type HoldEvent, LossCause } from '../../../generated/typescript/holdfast/v1/lease';
import { bearer, endingOf } from '../clients/calls';
import { LockClient, ms } from '../clients/lease-client';
import type { HoldCall } from '../clients/streams';

export interface BystanderOptions {
  readonly address: string;
  readonly label: string;
  /** The bearer token of all calls. Default: none. */
  readonly token?: string | undefined;
  readonly streams: number;
  readonly connections: number;
  readonly ttlMs: number;
}

export interface BystanderCounts {
  readonly renewed: number;
  /** Streams that were told of a loss, by the cause. */
  readonly lost: Readonly<Record<string, number>>;
  /** Streams that ended without the event `lost`, by the status or reason. */
  readonly ended: Readonly<Record<string, number>>;
  /** Streams with a lease whose end, by the client's own clock, came before the next renewal. */
  readonly late: number;
}

type HoldMessage = { readonly holdEvent?: HoldEvent | undefined };

function countInto(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** Clients with one held lease each, which want nothing but to keep their lease. */
export class Bystanders {
  private readonly clients: LockClient[] = [];
  private readonly bystanders: Bystander[] = [];
  private readonly lost = new Map<string, number>();
  private readonly ended = new Map<string, number>();
  private renewed = 0;

  /** Resolves when every stream has its lease. */
  static async open(options: BystanderOptions): Promise<Bystanders> {
    const { address, label, streams, connections, ttlMs } = options;
    const channel = bearer(options.token);
    const all = new Bystanders();
    for (let index = 0; index < connections; index += 1)
      all.clients.push(new LockClient(address, { channel }));
    try {
      const opening = Array.from({ length: streams }, (_, index) => {
        const client = all.clients[index % connections] as LockClient;
        const value = { name: `${label}-${index}`, ttlMs, waitMs: 0, requestId: randomUUID() };
        return all.hold(() => client.openHold({ $case: 'acquire', value }), ttlMs);
      });
      await Promise.all(opening);
    } catch (error) {
      all.close();
      throw error;
    }
    return all;
  }

  get counts(): BystanderCounts {
    return {
      renewed: this.renewed,
      lost: Object.fromEntries(this.lost),
      ended: Object.fromEntries(this.ended),
      late: this.bystanders.filter((one) => one.isLate()).length,
    };
  }

  close(): void {
    for (const one of this.bystanders) one.cancel();
    for (const client of this.clients) client.close();
  }

  private hold(open: () => HoldCall, ttlMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const bystander = new Bystander(open, ttlMs, {
        granted: resolve,
        renewed: () => (this.renewed += 1),
        lost: (cause) => countInto(this.lost, cause),
        ended: (ending) => {
          countInto(this.ended, ending);
          reject(new Error(`a bystander's stream ended with ${ending}`));
        },
      });
      this.bystanders.push(bystander);
    });
  }
}

interface BystanderEvents {
  granted(): void;
  renewed(): void;
  lost(cause: string): void;
  /** The stream ended without a loss. */
  ended(ending: string): void;
}

class Bystander {
  private readonly openedAt = performance.now();
  private readonly call: HoldCall;
  /** The end of the lease by this client's clock. Infinity before the grant and after the end of the stream. */
  private deadline = Infinity;
  private late = false;
  private over = false;

  constructor(
    open: () => HoldCall,
    private readonly ttlMs: number,
    private readonly events: BystanderEvents,
  ) {
    this.call = open();
    this.call.on('data', ({ holdEvent }: HoldMessage) => this.receive(holdEvent?.event));
    this.call.on('error', () => undefined); // The event 'status' follows.
    this.call.on('status', (ended) => {
      if (this.over) return;
      this.finish();
      const { code, reason } = endingOf(Object.assign(new Error(), ended));
      this.events.ended(reason ?? code ?? status[ended.code]);
    });
  }

  isLate(): boolean {
    this.late ||= performance.now() > this.deadline;
    return this.late;
  }

  cancel(): void {
    this.finish();
    this.call.cancel();
  }

  private receive(event: HoldEvent['event']): void {
    if (event?.$case === 'granted') {
      this.believeUntil(ms(event.value.lease?.expireOffset));
      this.events.granted();
    } else if (event?.$case === 'renewed') {
      this.isLate();
      this.believeUntil(ms(event.value.expireOffset));
      this.events.renewed();
    } else if (event?.$case === 'lost') {
      this.isLate();
      this.finish();
      this.events.lost(LossCause[event.value.cause].replace('LOSS_CAUSE_', ''));
    }
  }

  private believeUntil(expireOffsetMs: number): void {
    const end = Math.min(this.openedAt + expireOffsetMs, performance.now() + this.ttlMs);
    this.deadline = this.deadline === Infinity ? end : Math.max(this.deadline, end);
  }

  private finish(): void {
    this.isLate();
    this.deadline = Infinity;
    this.over = true;
  }
}

export interface InnocentOptions {
  readonly address: string;
  readonly label: string;
  /** The bearer token of all calls. Default: none. */
  readonly token?: string | undefined;
  /** The number of locks that are acquired and released in a second. */
  readonly perSecond: number;
}

export interface Sample {
  readonly call: 'acquire' | 'release';
  /** The start of the call by `performance.now()`. */
  readonly startedAt: number;
  /** The time until the answer. For a call without an answer yet, the time until now. */
  readonly ms: number;
  /** OK, or the reason or status. Undefined for a call without an answer yet. */
  readonly outcome: string | undefined;
}

/** A call that may have no answer yet. */
interface Started {
  readonly call: Sample['call'];
  readonly startedAt: number;
  ms: number | undefined;
  outcome: string | undefined;
}

const NAMES = 100;
const TTL_MS = 30_000;

/**
 * A client of modest demands: it acquires and releases its own locks at a fixed rate. A call starts at its time even if
 * earlier calls have no answer yet, so that slow answers do not hide behind each other.
 */
export class InnocentClient {
  private readonly client: LockClient;
  private readonly samples: Started[] = [];
  private readonly timer: NodeJS.Timeout;
  private readonly startedAt = performance.now();
  private readonly turns = new Set<Promise<void>>();
  private started = 0;

  constructor(private readonly options: InnocentOptions) {
    this.client = new LockClient(options.address, { channel: bearer(options.token) });
    this.timer = setInterval(() => this.step(), 5);
  }

  /** The calls that started between the two times of `performance.now()`. */
  between(from: number, to: number): Sample[] {
    const now = performance.now();
    return this.samples
      .filter(({ startedAt }) => startedAt >= from && startedAt < to)
      .map((sample) => ({ ...sample, ms: sample.ms ?? now - sample.startedAt }));
  }

  /** Starts no more calls. Resolves when all calls have their answers. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await Promise.all(this.turns);
  }

  close(): void {
    clearInterval(this.timer);
    this.client.close();
  }

  private step(): void {
    const due = ((performance.now() - this.startedAt) * this.options.perSecond) / 1000;
    for (; this.started < due; this.started += 1) {
      const turn: Promise<void> = this.turn(`${this.options.label}-${this.started % NAMES}`).finally(() =>
        this.turns.delete(turn),
      );
      this.turns.add(turn);
    }
  }

  private async turn(name: string): Promise<void> {
    const lease = await this.timed('acquire', () =>
      this.client.acquire({ name, ttlMs: TTL_MS, waitMs: TTL_MS }),
    );
    if (lease !== undefined) await this.timed('release', () => this.client.release(lease.leaseId));
  }

  private async timed<Answer>(
    call: Sample['call'],
    send: () => Promise<Answer>,
  ): Promise<Answer | undefined> {
    const startedAt = performance.now();
    const sample: Started = { call, startedAt, ms: undefined, outcome: undefined };
    this.samples.push(sample);
    try {
      const answer = await send();
      sample.outcome = 'OK';
      return answer;
    } catch (error) {
      const { code, reason } = endingOf(error);
      sample.outcome = reason ?? code ?? 'no status';
      return undefined;
    } finally {
      sample.ms = performance.now() - startedAt;
    }
  }
}
