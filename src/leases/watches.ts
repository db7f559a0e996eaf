import type { Call } from '../base/call';
import { Deliveries } from '../flow/deliveries';
import { resourceKey, type Resource } from './lease';
import * as errors from './lease-errors';
import type { LeaseContext } from './lease-context';
import type { WatchSink } from './lease-requests';
import { WatchReader } from './watch-reader';
import { WatchStream } from './watch-stream';

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
      const stream = new WatchStream(reader.sent, sink, this.context.ageLimitAt(call, Infinity), (error) => {
        leave();
        reject(error instanceof Error ? error : new Error(String(error)));
      });
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
      const { store, clock, timers, onDefect } = this.context;
      reader = new WatchReader(resource, { store, clock, timers, deliveries: this.deliveries, onDefect });
      this.readers.set(key, reader);
    }
    return reader;
  }
}
