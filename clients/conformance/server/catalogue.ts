import type { Entry, Suggestion } from '../../../generated/typescript/holdfast/v1/autocomplete_service';

interface Stored {
  readonly entry: Entry;
  selections: bigint;
}

export interface SuggestionPage {
  readonly suggestions: Suggestion[];
  /** Empty: this is the last page. */
  readonly nextPageToken: string;
}

/** The most suggestions of a page in the contract. */
const MAX_PAGE_SIZE = 100;

/** The recents and dictionaries of all servers of a case. A query finds the entries that begin with it. */
export class Catalogue {
  readonly dictionaries = new Map<string, Map<string, Stored>>();
  private readonly recents = new Map<string, Entry[]>();

  addRecent(list: string, entry: Entry): void {
    const others = this.recentsOf(list).filter((one) => keyOf(one) !== keyOf(entry));
    this.recents.set(list, [entry, ...others]);
  }

  removeRecent(list: string, id: string, text: string): boolean {
    const before = this.recentsOf(list);
    const after = before.filter((one) => (id === '' ? one.text !== text : one.entryId !== id));
    this.recents.set(list, after);
    return after.length < before.length;
  }

  deleteRecents(list: string): boolean {
    return this.recents.delete(list);
  }

  suggestRecents(list: string, query: string, count: number): Suggestion[] {
    return this.recentsOf(list)
      .filter(beginsWith(query))
      .slice(0, count || 10)
      .map(suggestion);
  }

  put(dictionary: string, entries: readonly Entry[]): void {
    const stored = this.dictionaries.get(dictionary);
    for (const entry of entries) {
      stored?.set(entry.entryId, { entry, selections: stored.get(entry.entryId)?.selections ?? 0n });
    }
  }

  replace(dictionary: string, entries: readonly Entry[]): void {
    this.dictionaries.set(dictionary, new Map());
    this.put(dictionary, entries);
  }

  select(dictionary: string, entryId: string, count: number): bigint | undefined {
    const stored = this.dictionaries.get(dictionary)?.get(entryId);
    if (stored) stored.selections += BigInt(count);
    return stored?.selections;
  }

  suggest(dictionary: string, query: string, count: number): Suggestion[] {
    return this.suggestPage(dictionary, query, count, '').suggestions;
  }

  /** The token of a page says how many suggestions are on the pages before it. */
  suggestPage(dictionary: string, query: string, count: number, pageToken: string): SuggestionPage {
    const start = Number(pageToken);
    const end = start + Math.min(count || 10, MAX_PAGE_SIZE);
    const found = this.entries(dictionary)
      .filter(({ entry }) => beginsWith(query)(entry))
      .sort((a, b) => Number(weightOf(b) - weightOf(a)));
    const suggestions = found.slice(start, end).map(({ entry }) => suggestion(entry));
    return { suggestions, nextPageToken: end < found.length ? String(end) : '' };
  }

  entries(dictionary: string): Stored[] {
    return [...(this.dictionaries.get(dictionary)?.values() ?? [])];
  }

  private recentsOf(list: string): Entry[] {
    return this.recents.get(list) ?? [];
  }
}

function keyOf({ entryId, text }: Entry): string {
  return entryId || text;
}

function weightOf({ entry, selections }: Stored): bigint {
  return entry.weight + selections;
}

function beginsWith(query: string): (entry: Entry) => boolean {
  const wanted = query.toLowerCase();
  return ({ text }) => text.toLowerCase().startsWith(wanted);
}

function suggestion({ entryId, text, payload, weight }: Entry): Suggestion {
  return { entryId, text, segments: [], payload, matchKind: 2, score: weight, recent: false };
}
