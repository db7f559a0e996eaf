import type { Call } from '../base/call';
import { StoreFailure } from '../base/errors';
import type { Runtime } from '../base/runtime';
import { EarliestRun, type TimerQueue } from '../flow/timer-queue';
import { Deliveries } from '../flow/turns';
import { type Resource, resourceKey, resourceShownToClients, type ResourceView } from './lease';
import type { LeaseContext } from './lease-context';
import * as errors from './lease-errors';
import type { WatchSink } from './lease-requests';
import type { LeaseStore, WatchedView } from './lease-store';
import { SentState, WatchStream } from './watch-state';

const READ_INTERVAL_MS = 1000;
/** The shortest time between two reads of a resource, however often the resource changes. */
const SHORTEST_INTERVAL_MS = 50;
/** Delay between the earliest end of a lease and the read for this end. */
const AFTER_END_MS = 5;
const FIRST_RETRY_MS = 250;
const LONGEST_RETRY_MS = 1000;

interface WatchReaderOptions {
  readonly runtime: Runtime;
  readonly store: LeaseStore;
  readonly timers: TimerQueue;
  readonly deliveries: Deliveries;
}

/**
 * Reads one resource for all watch streams that this server has for the resource: when a stream is opened, every
 * second, on a hint, and when the earliest lease ends. At most one read is in flight. A failed read is repeated until
 * the store answers.
 */
class WatchReader {
  readonly sent = new SentState();
  private readonly streams = new Set<WatchStream>();
  /** The streams that have not received a view yet. */
  private readonly newcomers = new Set<WatchStream>();
  private readonly nextRead: EarliestRun;
  private isReading = false;
  /** True: a change or a new stream came after the read in flight was sent. */
  private readAgain = false;
  private readCount = 0;
  private lastReadAt = -Infinity;
  /** The pause after a failed read, and its end. 0: the last read was answered. */
  private retryMs = 0;
  private retryAt = 0;
  /** No stream reaches its age limit before this time. */
  private nextAgeLimitAt = Infinity;

  constructor(
    private readonly resource: Resource,
    private readonly options: WatchReaderOptions,
  ) {
    this.nextRead = new EarliestRun(options.timers, () => this.read());
  }

  get isEmpty(): boolean {
    return this.streams.size === 0;
  }

  add(stream: WatchStream): void {
    stream.firstRead = this.readCount + 1;
    this.nextAgeLimitAt = Math.min(this.nextAgeLimitAt, stream.ageLimitAt);
    this.streams.add(stream);
    this.newcomers.add(stream);
    this.recheck();
  }

  remove(stream: WatchStream): void {
    this.streams.delete(stream);
    this.newcomers.delete(stream);
    if (this.isEmpty) this.nextRead.cancel();
  }

  /** Reads the resource soon, because it may have changed. */
  recheck(): void {
    if (this.isReading) this.readAgain = true;
    // The pause after a failure counts: too many commands may be the reason of the failure.
    else this.readAt(Math.max(this.lastReadAt + SHORTEST_INTERVAL_MS, this.retryAt));
  }

  /** Ends all streams with this error. */
  end(error: unknown): void {
    for (const stream of this.streams) this.endStream(stream, error);
  }

  private endStream(stream: WatchStream, error: unknown): void {
    this.remove(stream);
    stream.endWith(error);
    this.options.deliveries.add(stream);
  }

  /** Never delays a planned read. */
  private readAt(time: number): void {
    if (this.isEmpty || this.nextRead.isPlannedBy(time)) return;
    if (time > this.options.runtime.clock.now()) return this.nextRead.by(time);
    this.nextRead.cancel();
    this.read();
  }

  private read(): void {
    const { runtime, store } = this.options;
    this.endAged();
    if (this.isEmpty) return;
    this.isReading = true;
    this.readAgain = false;
    this.readCount += 1;
    this.lastReadAt = runtime.clock.now();
    store
      .watch(this.resource)
      .then(
        (state) => this.receive(state),
        (error: unknown) => this.fail(error),
      )
      .then((nextAt) => {
        this.isReading = false;
        this.readAt(nextAt);
      })
      .catch(runtime.defect);
  }

  /** Returns the time of the next read. */
  private receive({ view, earliestEndMs = Infinity }: WatchedView): number {
    this.retryMs = this.retryAt = 0;
    if (view.limit === undefined && this.resource.service === 'semaphore') this.endUnknown();
    else this.show(resourceShownToClients(this.resource.service, view));
    const now = this.options.runtime.clock.now();
    const soonest = this.lastReadAt + SHORTEST_INTERVAL_MS;
    if (this.readAgain) return soonest;
    return Math.min(
      this.lastReadAt + READ_INTERVAL_MS,
      Math.max(now + earliestEndMs + AFTER_END_MS, soonest),
    );
  }

  private show(view: ResourceView): void {
    const { deliveries } = this.options;
    // The other newcomers were opened after this read was sent.
    const shownFirst = [...this.newcomers].filter(({ firstRead }) => firstRead <= this.readCount);
    if (this.sent.take(view, shownFirst.length > 0)) {
      for (const stream of this.streams) if (!this.newcomers.has(stream)) deliveries.add(stream);
    }
    for (const stream of shownFirst) {
      this.newcomers.delete(stream);
      deliveries.add(stream);
    }
  }

  /** A stream that was opened after this read was sent stays, because the semaphore may have been created since. */
  private endUnknown(): void {
    const error = errors.noSuchSemaphore(this.resource);
    this.sent.forget();
    for (const stream of this.streams) if (stream.firstRead <= this.readCount) this.endStream(stream, error);
  }

  /** Returns the time of the next read. A defect ends the streams, because a repeated read would not help. */
  private fail(error: unknown): number {
    if (!(error instanceof StoreFailure)) this.end(error);
    this.retryMs = Math.min(Math.max(2 * this.retryMs, FIRST_RETRY_MS), LONGEST_RETRY_MS);
    this.retryAt = this.options.runtime.clock.now() + this.retryMs;
    return this.retryAt;
  }

  private endAged(): void {
    const now = this.options.runtime.clock.now();
    if (now < this.nextAgeLimitAt) return;
    this.nextAgeLimitAt = Infinity;
    for (const stream of this.streams) {
      if (stream.ageLimitAt <= now) this.endStream(stream, errors.watchAged(this.resource));
      else this.nextAgeLimitAt = Math.min(this.nextAgeLimitAt, stream.ageLimitAt);
    }
  }
}

/** The watch streams of this server. All streams of a resource share one reader. See docs/design/watches.md. */
export class Watches {
  private readonly readers = new Map<string, WatchReader>();
  private readonly deliveries: Deliveries;
  private openCount = 0;

  constructor(
    private readonly context: LeaseContext,
    private readonly onClosed: () => void,
  ) {
    this.deliveries = new Deliveries(context.clock);
  }

  get streamCount(): number {
    return this.openCount;
  }

  get readerCount(): number {
    return this.readers.size;
  }

  /** Resolves when the client is gone. Rejects with the error that ends the stream. */
  async watch(call: Call, resource: Resource, sink: WatchSink): Promise<void> {
    const { isDraining, limits } = this.context;
    if (isDraining) throw errors.draining();
    if (this.openCount >= limits.maxStreams) throw errors.tooManyStreams(this.openCount, 'watch');
    this.openCount += 1;
    try {
      await this.serve(call, resource, sink);
    } finally {
      this.openCount -= 1;
      this.onClosed();
    }
  }

  /** Reads the resource soon if a stream watches it. */
  recheck(resource: Resource): void {
    this.readers.get(resourceKey(resource))?.recheck();
  }

  drain(): void {
    const error = errors.draining();
    for (const reader of this.readers.values()) reader.end(error);
  }

  private serve(call: Call, resource: Resource, sink: WatchSink): Promise<void> {
    return new Promise((resolve, reject) => {
      const reader = this.readerOf(resource);
      const leave = () => {
        reader.remove(stream);
        this.deliveries.delete(stream);
        const key = resourceKey(resource);
        if (reader.isEmpty && this.readers.get(key) === reader) this.readers.delete(key);
      };
      const stream = new WatchStream(
        reader.sent,
        sink,
        this.context.lives.ageLimitAt(call, Infinity),
        (error) => {
          leave();
          reject(error instanceof Error ? error : new Error(String(error)));
        },
      );
      reader.add(stream);
      call.onCancelled(() => {
        leave();
        resolve();
      });
    });
  }

  private readerOf(resource: Resource): WatchReader {
    const key = resourceKey(resource);
    let reader = this.readers.get(key);
    if (!reader) {
      const { runtime, store, timers } = this.context;
      reader = new WatchReader(resource, { runtime, store, timers, deliveries: this.deliveries });
      this.readers.set(key, reader);
    }
    return reader;
  }
}
