import type { ResourceView } from './lease';
import type { Delivery } from '../flow/deliveries';
import type { WatchSink } from './lease-requests';

/** The state of a resource that this server sends to its watch streams. */
export interface NewestView {
  readonly view: ResourceView | undefined;
  /** Rises when clients see another state. */
  readonly version: number;
}

/** One watch stream of this server. */
export class WatchStream implements Delivery {
  /** The version of the view that was sent last. 0: none. */
  sentVersion = 0;
  /** The number of the first read that the stream may show: the first read that was sent after the stream was opened. */
  firstRead = 0;
  private end: { readonly error: unknown } | undefined;

  constructor(
    private readonly newest: NewestView,
    private readonly sink: WatchSink,
    readonly ageLimitAt: number,
    private readonly finish: (error: unknown) => void,
  ) {}

  /** The next delivery ends the stream with the error, and sends nothing. */
  endWith(error: unknown): void {
    this.end = { error };
  }

  deliver(): void {
    const { view, version } = this.newest;
    if (this.end) return this.finish(this.end.error);
    if (view === undefined || version === this.sentVersion) return;
    this.sentVersion = version;
    this.sink.send(view);
  }

  /** Ends the stream with a defect of its delivery. */
  fail(defect: unknown): void {
    this.finish(defect);
  }
}
