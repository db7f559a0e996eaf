import type { HolderView, ResourceView } from './lease';
import { byToken, showSame } from './shown-change';
import type { NewestView } from './watch-stream';

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
