import { randomUUID } from 'node:crypto';
import { status } from '@grpc/grpc-js';
import { LossCause, type HoldEvent } from '../../../generated/typescript/holdfast/v1/lease';
import { bearer } from '../clients/bearer';
import { endingOf } from '../clients/call-ending';
import type { HoldCall } from '../clients/hold-stream';
import { ms } from '../clients/lease-client';
import { LockClient } from '../clients/lock-client';

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
