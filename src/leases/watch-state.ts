import { isDeepStrictEqual } from 'node:util';
import type { Delivery } from '../flow/turns';
import type { HolderView, ResourceView } from './lease';
import type { WatchSink } from './lease-requests';

/** Holders by their fencing tokens. */
export type HoldersByToken = ReadonlyMap<bigint, HolderView>;

/**
 * True if clients that know `before` and the holders `known` see the same state in `after`. A renewal is not a
 * change. A renewal moves only the end of a lease, and the place of its holder, because holders are in the order of
 * their ends.
 */
export function showSame(
  before: ResourceView,
  after: ResourceView,
  known: HoldersByToken = byToken(before.holders),
): boolean {
  return (
    before.limit === after.limit &&
    before.keptLimit === after.keptLimit &&
    before.usedCount === after.usedCount &&
    before.lastFencingToken === after.lastFencingToken &&
    before.holderCount === after.holderCount &&
    before.waiterCount === after.waiterCount &&
    isDeepStrictEqual(before.waiters, after.waiters) &&
    showSameHolders(known, after)
  );
}

function byToken(holders: readonly HolderView[]): Map<bigint, HolderView> {
  return new Map(holders.map((holder) => [holder.fencingToken, holder]));
}

/**
 * Each new holder has a new token, and each end lowers the number of holders. So if there are more holders than a view shows,
 * an unknown holder is no change: renewals have moved it to the front. But an unknown holder that is revoked is a change.
 */
function showSameHolders(known: HoldersByToken, { holders, holderCount }: ResourceView): boolean {
  const areAllShown = holders.length === holderCount;
  return holders.every((holder) => {
    const earlier = known.get(holder.fencingToken);
    if (earlier === undefined) return !areAllShown && !holder.revoked;
    return isDeepStrictEqual({ ...earlier, expireTimeMs: holder.expireTimeMs }, holder);
  });
}

/** The state of a resource that this server sends to its watch streams. */
interface NewestView {
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

/** The most holders that are compared with a new state. */
const MOST_KNOWN_HOLDERS = 64;

/** The state that this server sends to the watch streams of a resource, and the holders that their clients know. */
export class SentState implements NewestView {
  view: ResourceView | undefined;
  version = 0;
  /**
   * Each holder that some client sees. All clients that see a holder see the same, apart from the end of its lease. Streams
   * that were opened at different times may see different holders, because a view shows only some of many holders.
   */
  private known = new Map<bigint, HolderView>();

  /**
   * Takes the result of a read. True: all streams must get `view`. False: only new streams must. `hasNewStreams`: there are
   * new streams.
   */
  take(view: ResourceView, hasNewStreams: boolean): boolean {
    if (this.isKnown(view)) {
      const unknown = view.holders.filter(({ fencingToken }) => !this.known.has(fencingToken));
      if (unknown.length > 0 && !hasNewStreams) return false;
      if (this.known.size + unknown.length <= MOST_KNOWN_HOLDERS) {
        for (const holder of unknown) this.known.set(holder.fencingToken, holder);
        this.view = view;
        return false;
      }
    }
    this.view = view;
    this.version += 1;
    this.known = byToken(view.holders);
    return true;
  }

  /** The resource is gone: the next view is a change. */
  forget(): void {
    this.view = undefined;
    this.known.clear();
  }

  private isKnown(view: ResourceView): boolean {
    return this.view !== undefined && showSame(this.view, view, this.known);
  }
}
