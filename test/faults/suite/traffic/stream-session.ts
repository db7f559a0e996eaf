import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMicros } from '../../../support/history-recorder';
import type { Held } from '../../held';
import type { RecordedStream } from '../../recorded-stream';
import { isOutage, type Request, type Worker } from './worker';

/** The error of a stream that is silent for too long, because its link is cut or its server is paused. */
export class Silence extends Error {
  override readonly name = 'Silence';
}

/** The time by which a stream may be late (ms). */
const LATENESS_MS = 4000;
const POLL_MS = 50;
const MAX_ATTACHES = 20;

/** A lease that a stream keeps. When the stream breaks, the client attaches a new stream at the next server. */
export class StreamedLease {
  private constructor(
    private readonly worker: Worker,
    readonly held: Held,
    private stream: RecordedStream,
    private readonly superseded?: RecordedStream,
  ) {}

  static async open(worker: Worker, request: Request): Promise<StreamedLease> {
    const { stream, held } = await worker.again(async () => {
      const opened = worker.servers.current.hold(request);
      return { stream: opened, held: await granted(opened, (request.waitMs ?? 0) + LATENESS_MS) };
    });
    return new StreamedLease(worker, held, stream);
  }

  /**
   * Opens two streams of one request at one server. The second stream gets the lease, and supersedes the first stream.
   * @param meanwhile called before the second stream is opened, when the first stream waits or holds the lease
   */
  static async openTwice(
    worker: Worker,
    request: Request,
    meanwhile: () => Promise<void>,
  ): Promise<StreamedLease> {
    const { current } = worker.servers;
    const open = [current.hold(request)];
    const [first] = open as [RecordedStream];
    try {
      await Promise.race([first.queued(), first.granted(), sleep(LATENESS_MS)]);
      const done = meanwhile();
      const second = current.hold(request);
      open.push(second);
      const [held] = await Promise.all([granted(second, (request.waitMs ?? 0) + LATENESS_MS), done]);
      return new StreamedLease(worker, held, second, first);
    } catch (error) {
      for (const stream of open) stream.cancel();
      throw error;
    }
  }

  /** Keeps the lease for a time. Returns false if the lease was lost or given up. */
  async keep(forMs: number): Promise<boolean> {
    const until = performance.now() + forMs;
    let attaches = 0;
    while (performance.now() < until) {
      await sleep(Math.min(POLL_MS, until - performance.now()));
      if (this.stream.wasLost || this.isPast()) return false;
      if (this.stream.ending === undefined) continue;
      attaches += 1;
      if (this.stream.ending.code !== 'UNAVAILABLE' || attaches > MAX_ATTACHES) return false;
      if (!(await this.attach())) return false;
    }
    return true;
  }

  /** Cancels the stream without a release. The lease expires. */
  async abandon(): Promise<void> {
    this.stream.cancel();
    await this.ended();
  }

  /** Releases the lease by its id, and waits for the end of the stream. */
  async release(): Promise<void> {
    try {
      await this.worker.release(this.held);
    } finally {
      await this.ended();
    }
  }

  /** Attaches a second stream while the first stream is still open. The second stream supersedes the first stream. */
  async reattach(): Promise<void> {
    this.worker.servers.next();
    await this.attach();
  }

  private async attach(): Promise<boolean> {
    this.worker.servers.next();
    const stream = this.worker.servers.current.attach(this.held);
    try {
      await granted(stream, LATENESS_MS);
    } catch (error) {
      if (isOutage(error)) {
        await sleep(POLL_MS);
        return !this.isPast();
      }
      return false;
    }
    this.stream = stream;
    return true;
  }

  /** True if the client's own deadline has passed. The state of the stream does not matter. */
  private isPast(): boolean {
    return this.stream.deadline <= monotonicMicros();
  }

  private async ended(): Promise<void> {
    const { stream, superseded } = this;
    const timeout = new AbortController();
    await Promise.race([
      Promise.all([stream.ended, superseded?.ended]),
      sleep(LATENESS_MS, undefined, { signal: timeout.signal }).catch(() => undefined),
    ]);
    timeout.abort();
    stream.cancel();
    superseded?.cancel();
  }
}

/** Waits for the grant of a stream, and cancels the stream if it is silent for too long. */
async function granted(stream: RecordedStream, timeoutMs: number): Promise<Held> {
  try {
    return await stream.granted(timeoutMs);
  } catch (error) {
    if (stream.ending !== undefined) throw error;
    stream.cancel();
    throw new Silence((error as Error).message);
  }
}
