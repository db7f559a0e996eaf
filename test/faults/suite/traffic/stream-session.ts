import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMicros } from '../../../support/history-recorder';
import type { Held } from '../../held';
import type { RecordedStream } from '../../recorded-stream';
import { isOutage, type Request, type Worker } from './worker';

/** A stream that should have said something and did not: its way is cut, or its server stopped. */
export class Silence extends Error {
  override readonly name = 'Silence';
}

/** How much longer than it may take a stream is waited for. */
const PATIENCE_MS = 4000;
const LOOK_EVERY_MS = 50;
const MOST_ATTACHES = 20;

/** A lease that a stream keeps; when the stream breaks it attaches at the next server. */
export class StreamedLease {
  private constructor(
    private readonly worker: Worker,
    readonly held: Held,
    private stream: RecordedStream,
  ) {}

  static async open(worker: Worker, request: Request): Promise<StreamedLease> {
    const { stream, held } = await worker.again(async () => {
      const opened = worker.servers.current.hold(request);
      return { stream: opened, held: await granted(opened, (request.waitMs ?? 0) + PATIENCE_MS) };
    });
    return new StreamedLease(worker, held, stream);
  }

  /** Keeps it for so long, or until it is lost; false: lost, or given up. */
  async keep(forMs: number): Promise<boolean> {
    const until = performance.now() + forMs;
    let attaches = 0;
    while (performance.now() < until) {
      await sleep(Math.min(LOOK_EVERY_MS, until - performance.now()));
      if (this.stream.wasLost || this.isPast()) return false;
      if (this.stream.ending === undefined) continue;
      attaches += 1;
      if (this.stream.ending.code !== 'UNAVAILABLE' || attaches > MOST_ATTACHES) return false;
      if (!(await this.attach())) return false;
    }
    return true;
  }

  /** The client walks away: its stream ends, and the lease comes back by itself. */
  async abandon(): Promise<void> {
    this.stream.cancel();
    await this.over();
  }

  /** Gives it back by its id and hears the stream's last word, as long as that takes in reason. */
  async release(): Promise<void> {
    try {
      await this.worker.release(this.held);
    } finally {
      await this.over();
    }
  }

  /** Another stream for the same lease, while the one before is still open: that one is superseded. */
  async reattach(): Promise<void> {
    this.worker.servers.next();
    await this.attach();
  }

  private async attach(): Promise<boolean> {
    this.worker.servers.next();
    const stream = this.worker.servers.current.attach(this.held);
    try {
      await granted(stream, PATIENCE_MS);
    } catch (error) {
      if (isOutage(error)) {
        await sleep(LOOK_EVERY_MS);
        return !this.isPast();
      }
      return false;
    }
    this.stream = stream;
    return true;
  }

  /** The client's own deadline, which holds whatever the stream says or does not say. */
  private isPast(): boolean {
    return this.stream.deadline <= monotonicMicros();
  }

  private async over(): Promise<void> {
    const { stream } = this;
    const patience = new AbortController();
    await Promise.race([
      stream.ended,
      sleep(PATIENCE_MS, undefined, { signal: patience.signal }).catch(() => undefined),
    ]);
    patience.abort();
    stream.cancel();
  }
}

/** Waits for a stream's grant; one that stays silent is cancelled. */
async function granted(stream: RecordedStream, timeoutMs: number): Promise<Held> {
  try {
    return await stream.granted(timeoutMs);
  } catch (error) {
    if (stream.ending !== undefined) throw error;
    stream.cancel();
    throw new Silence((error as Error).message);
  }
}
