import { bearer } from '../clients/bearer';
import { endingOf } from '../clients/call-ending';
import { LockClient } from '../clients/lock-client';

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
