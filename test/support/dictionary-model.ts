import { fold } from '../../src/engine/autocomplete/fold';
import {
  MATCH_KINDS,
  type Entry,
  type ListedEntry,
  type MatchKind,
  type Profile,
  type Recent,
} from '../../src/engine/autocomplete/suggestion';
import { naiveKind } from './naive-match';

interface Kept {
  readonly entry: Entry;
  readonly selections: number;
}

/** What of a suggestion the model knows for certain. */
export interface Expected {
  readonly kind: MatchKind;
  readonly entryId: string;
  readonly text: string;
  readonly recent: boolean;
  /** Of an entry; a recent's depends on where its page ends. */
  readonly score: number | undefined;
}

export interface Asked {
  readonly query: string;
  readonly kinds: readonly MatchKind[];
  /** Most recent first. */
  readonly recents?: readonly Recent[];
}

class ModelImport {
  readonly entries = new Map<string, Kept>();
  /** Put or deleted meanwhile. */
  readonly pinned = new Set<string>();
  received = 0;
  lost = false;
}

/** A dictionary as the contract has it: a map of entries and a filter over it. */
export class DictionaryModel {
  private entries = new Map<string, Kept>();
  private readonly imports = new Set<ModelImport>();
  /** Nothing but a saving of time: of what was folded, and of the entries in order until one changes. */
  private readonly folded = new Map<string, string>();
  private ranked: Kept[] | undefined;

  constructor(readonly profile: Profile) {}

  get size(): number {
    return this.entries.size;
  }

  put(entry: Entry): void {
    const kept = { entry, selections: this.entries.get(entry.entryId)?.selections ?? 0 };
    for (const one of this.imports) {
      one.pinned.add(entry.entryId);
      one.entries.set(entry.entryId, kept);
    }
    this.entries.set(entry.entryId, kept);
    this.ranked = undefined;
  }

  /** Whether it was there. */
  delete(entryId: string): boolean {
    for (const one of this.imports) {
      one.pinned.add(entryId);
      one.entries.delete(entryId);
    }
    this.ranked = undefined;
    return this.entries.delete(entryId);
  }

  /** The new count; undefined: there is no such entry. */
  select(entryId: string, count: number): number | undefined {
    const kept = this.entries.get(entryId);
    if (kept === undefined) return undefined;
    const selections = kept.selections + count;
    this.entries.set(entryId, { ...kept, selections });
    this.ranked = undefined;
    return selections;
  }

  startImport(): ModelImport {
    const begun = new ModelImport();
    this.imports.add(begun);
    return begun;
  }

  putImported(into: ModelImport, entries: readonly Entry[]): 'ok' | 'lost' {
    if (into.lost) return 'lost';
    for (const entry of entries) {
      if (!into.pinned.has(entry.entryId)) into.entries.set(entry.entryId, { entry, selections: 0 });
    }
    into.received += entries.length;
    return 'ok';
  }

  commit(what: ModelImport): 'ok' | 'lost' {
    if (what.lost) return 'lost';
    const before = this.entries;
    this.entries = new Map();
    for (const [entryId, { entry }] of what.entries) {
      this.entries.set(entryId, { entry, selections: before.get(entryId)?.selections ?? 0 });
    }
    for (const other of this.imports) other.lost = true;
    this.ranked = undefined;
    this.imports.clear();
    return 'ok';
  }

  abandon(what: ModelImport): void {
    this.imports.delete(what);
    what.lost = true;
  }

  /** All that match, in order. */
  suggest({ query, kinds, recents = [] }: Asked): Expected[] {
    const typed = this.fold(query);
    const kindOf = (texts: readonly string[]) =>
      naiveKind(
        texts.map((text) => this.fold(text)),
        typed,
        kinds,
        this.profile.typos,
      );
    const own = this.distinct(recents).flatMap((recent) => {
      const kind = kindOf([recent.text]);
      return kind === undefined ? [] : [{ recent, kind }];
    });
    const shownAsRecent = ({ entryId, text }: Entry) =>
      own.some(({ recent }) =>
        recent.entryId === '' ? this.fold(recent.text) === this.fold(text) : recent.entryId === entryId,
      );
    const ranked = this.inOrderOfRank().flatMap(({ entry, selections }) => {
      const kind = kindOf([entry.text, ...entry.aliases]);
      if (kind === undefined || shownAsRecent(entry)) return [];
      const { entryId, text, weight } = entry;
      return [{ kind, entryId, text, recent: false, score: weight + selections }];
    });
    return MATCH_KINDS.flatMap((kind) => [
      ...own
        .filter((one) => one.kind === kind)
        .map(({ recent: { entryId, text } }) => ({ kind, entryId, text, recent: true, score: undefined })),
      ...ranked.filter((one) => one.kind === kind),
    ]);
  }

  /** Between the bounds (each empty: none), by folded text; those of one text by id. */
  list(from: string, to: string): ListedEntry[] {
    const [first, end] = [this.fold(from), this.fold(to)];
    return [...this.entries.values()]
      .map(({ entry, selections }) => ({ ...entry, selectionCount: selections }))
      .filter(({ text }) => compare(this.fold(text), first) >= 0)
      .filter(({ text }) => end === '' || compare(this.fold(text), end) < 0)
      .sort((a, b) => compare(this.fold(a.text), this.fold(b.text)) || compare(a.entryId, b.entryId));
  }

  fold(text: string): string {
    let folded = this.folded.get(text);
    if (folded === undefined) {
      folded = fold(text, this.profile.accents);
      this.folded.set(text, folded);
    }
    return folded;
  }

  private inOrderOfRank(): Kept[] {
    const score = ({ entry, selections }: Kept) => entry.weight + selections;
    this.ranked ??= [...this.entries.values()].sort(
      (a, b) =>
        score(b) - score(a) ||
        compare(this.fold(a.entry.text), this.fold(b.entry.text)) ||
        compare(a.entry.entryId, b.entry.entryId),
    );
    return this.ranked;
  }

  /** Of those that are one thing the most recent: of one id, or, where one has none, of one text. */
  private distinct(recents: readonly Recent[]): Recent[] {
    const found: Recent[] = [];
    for (const recent of recents) {
      const same = (other: Recent) =>
        recent.entryId !== '' && other.entryId !== ''
          ? recent.entryId === other.entryId
          : this.fold(recent.text) === this.fold(other.text);
      if (!found.some(same)) found.push(recent);
    }
    return found;
  }
}

/** By code points, which is by bytes of UTF-8. */
export function compare(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
