import { Lanes } from '../../flow/lanes';
import { fold } from '../text/fold';
import { wantedKinds } from '../text/match';
import type { Listing, ListingRequest, Ranking, RankingRequest } from '../suggestion';
import { queryOf } from '../index/search/query';
import { type Listing as FoundListing, list } from '../index/search/list';
import { suggest, type Stopped, type Suggestions } from '../index/search/view-suggest';
import { Work } from '../index/work';
import type { IndexThread, ListTask, SuggestTask } from './thread-calls';
import type { GenerationCopy } from './copy';
import { livingLayer } from './levels';
import type { Patience } from '../../flow/waiting';
import { searchesFull } from '../autocomplete-errors';

/**
 * A search on the main thread stops after this number of steps: about 0.3 ms. Then another thread starts the search
 * again from the beginning.
 */
const STEPS_HERE = 3000;
/** How many long searches may be ahead of a long search. A search takes some milliseconds. */
const MOST_WAITING = 1000;

/** Who asks for a search. */
export interface SearchCaller {
  readonly caller: object | undefined;
  readonly patience: Patience;
}

/** Searches copies: short searches on the main thread, and long searches in another thread. */
export class CopySearch {
  /** Long searches run one after the other. The searches of one caller wait behind each other. */
  readonly #lane = new Lanes(1);

  constructor(private readonly thread: IndexThread) {}

  async rank(
    copy: GenerationCopy,
    { query, kinds, limit, after }: RankingRequest,
    by: SearchCaller,
  ): Promise<Ranking> {
    const { profile } = copy;
    const wanted = wantedKinds(kinds, profile.typos);
    const folded = fold(query, profile.accents);
    const task: SuggestTask = { folded, wanted: [...wanted], limit, after };
    const here = suggest(copy.view, queryOf(folded, wanted), limit, after, new Work(STEPS_HERE));
    const { entries, more } = await this.#complete(here, copy, by, (layers) =>
      this.thread.call('suggest', { ...task, layers }),
    );
    const last = entries.at(-1);
    const next =
      more && last
        ? { kind: last.kind, at: { score: last.score, text: last.foldedText, entryId: last.entryId } }
        : undefined;
    return { profile, entries, next };
  }

  async list(
    copy: GenerationCopy,
    { from, to, limit, after }: ListingRequest,
    by: SearchCaller,
  ): Promise<Listing> {
    const { accents } = copy.profile;
    const task: ListTask = { from: fold(from, accents), to: fold(to, accents), limit, after };
    const here = list(copy.view, task.from, task.to, limit, after, new Work(STEPS_HERE));
    const { entries, more } = await this.#complete(here, copy, by, (layers) =>
      this.thread.call('list', { ...task, layers }),
    );
    const last = entries.at(-1);
    return { entries, next: more && last ? { text: last.foldedText, entryId: last.entryId } : undefined };
  }

  async #complete<T extends Suggestions | FoundListing>(
    here: T | Stopped,
    copy: GenerationCopy,
    { caller, patience }: SearchCaller,
    there: (layers: ReturnType<typeof livingLayer>[]) => Promise<T>,
  ): Promise<T> {
    if (here.kind === 'found') return here;
    if (this.#lane.ahead(caller) >= MOST_WAITING) throw searchesFull();
    const mustWait = this.#lane.isFull;
    const { levels } = copy;
    // The levels of a waiting search must keep their memory.
    for (const { held } of levels) held.hold();
    try {
      return await this.#lane.run(caller, async () => {
        // The caller no longer waits for the result.
        if (mustWait && patience.isOver) throw searchesFull();
        return there(levels.map(livingLayer));
      });
    } finally {
      for (const { held } of levels) held.release();
    }
  }
}
