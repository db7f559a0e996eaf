import {
  type Entry,
  type ListedEntry,
  MATCH_KINDS,
  type MatchKind,
  type Profile,
  type Recent,
} from '../../../src/autocomplete/suggestion';
import { fold } from '../../../src/autocomplete/text/fold';

/** A simple implementation of the match kinds, for comparison. All texts are folded. */

const WORD = /^[\p{L}\p{N}]$/u;
const IN_WORD = /^[\p{L}\p{N}\p{M}]$/u;

/** The best of the given match kinds by which a text matches. */
function naiveKind(
  texts: readonly string[],
  query: string,
  kinds: readonly MatchKind[],
  typos: boolean,
): MatchKind | undefined {
  const asked = kinds.length === 0 ? MATCH_KINDS : kinds;
  const unasked = (kind: MatchKind) => !asked.includes(kind);
  for (const kind of MATCH_KINDS) {
    if (kind === 'typo') {
      // A text that matches by another kind contains the query.
      if (!typos || unasked(kind) || texts.some((text) => text.includes(query))) continue;
      if (texts.some((text) => beginsNearly(text, query))) return kind;
    } else if (!unasked(kind) && texts.some((text) => matches(text, query, kind))) {
      return kind;
    }
  }
  return undefined;
}

function matches(text: string, query: string, kind: Exclude<MatchKind, 'typo'>): boolean {
  if (query === '') return kind !== 'exact';
  if (!text.includes(query)) return false;
  switch (kind) {
    case 'exact':
      return text === query;
    case 'prefix':
      return text.startsWith(query);
    case 'word-prefix': {
      const characters = [...text];
      return characters.some((character, i) => {
        const before = characters[i - 1];
        if (before === undefined || IN_WORD.test(before) || !WORD.test(character)) return false;
        return characters.slice(i).join('').startsWith(query);
      });
    }
    case 'suffix':
      return text.endsWith(query);
    case 'contains':
      return true;
  }
}

/** True if a beginning of the text is within the allowed edit distance of the query. */
function beginsNearly(text: string, query: string): boolean {
  const [typed, found] = [[...query], [...text]];
  const allowed = typed.length < 4 ? 0 : typed.length < 8 ? 1 : 2;
  if (allowed === 0 || typed[0] !== found[0]) return false;
  return distances(typed, found.slice(0, typed.length + allowed)).some((distance) => distance <= allowed);
}

/** The optimal string alignment distance of the query to each beginning of the text. */
function distances(typed: readonly string[], found: readonly string[]): readonly number[] {
  const rows: number[][] = [found.map((_, i) => i).concat(found.length)];
  for (let i = 1; i <= typed.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= found.length; j += 1) {
      const at = (up: number, left: number) => (up === 0 ? row : rows[i - up])?.[j - left] ?? Infinity;
      let least = Math.min(at(1, 0) + 1, at(0, 1) + 1, at(1, 1) + (typed[i - 1] === found[j - 1] ? 0 : 1));
      const swapped = typed[i - 1] === found[j - 2] && typed[i - 2] === found[j - 1];
      if (i > 1 && j > 1 && swapped) least = Math.min(least, at(2, 2) + 1);
      row.push(least);
    }
    rows.push(row);
  }
  return rows.at(-1) ?? [];
}

interface Kept {
  readonly entry: Entry;
  readonly selections: number;
}

/** The part of a suggestion that the model knows. */
export interface Expected {
  readonly kind: MatchKind;
  readonly entryId: string;
  readonly text: string;
  readonly recent: boolean;
  /**
   * The score of an entry. Undefined for a recent: the server reports the score of the recent's entry, or 0, depending
   * on the end of the page. The model has no pages.
   */
  readonly score: number | undefined;
}

export interface Asked {
  readonly query: string;
  readonly kinds: readonly MatchKind[];
  /** The recents, the latest first. */
  readonly recents?: readonly Recent[];
}

class ModelImport {
  readonly entries = new Map<string, Kept>();
  /** The ids that were put or deleted during the import. */
  readonly pinned = new Set<string>();
  received = 0;
  lost = false;
}

/** A simple dictionary that follows the contract: a map of entries and a filter. */
export class DictionaryModel {
  private entries = new Map<string, Kept>();
  private readonly imports = new Set<ModelImport>();
  /** Caches of folded texts, and of the ordered entries until an entry changes. */
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

  /** Deletes entries. Returns the number of entries that existed. */
  delete(entryIds: readonly string[]): number {
    const deleted = [...new Set(entryIds)].filter((entryId) => this.entries.delete(entryId)).length;
    for (const one of this.imports) {
      for (const entryId of entryIds) {
        one.pinned.add(entryId);
        one.entries.delete(entryId);
      }
    }
    this.ranked = undefined;
    return deleted;
  }

  /** Adds selections. Returns the new count, or undefined if the entry does not exist. */
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

  /** All matches of a query, in the order in which Suggest must return them: by kind, and recents before entries. */
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
    const matches = this.inOrderOfRank().flatMap(({ entry, selections }) => {
      const kind = kindOf([entry.text, ...entry.aliases]);
      return kind === undefined ? [] : [{ kind, entry, score: entry.weight + selections }];
    });
    const inOrder = MATCH_KINDS.flatMap((kind) => matches.filter((one) => one.kind === kind));
    // Each recent stands for at most one entry: the entry with its id, or else the first with its text that is left.
    const shownAsRecent = new Set<Entry>();
    for (const { recent } of own) {
      const same = matches.find(({ entry }) => entry.entryId === recent.entryId);
      if (same) shownAsRecent.add(same.entry);
    }
    for (const { recent } of own) {
      const same = inOrder.find(
        ({ entry }) => !shownAsRecent.has(entry) && this.fold(entry.text) === this.fold(recent.text),
      );
      if (recent.entryId === '' && same) shownAsRecent.add(same.entry);
    }
    return MATCH_KINDS.flatMap((kind) => [
      ...own
        .filter((one) => one.kind === kind)
        .map(({ recent: { entryId, text } }) => ({ kind, entryId, text, recent: true, score: undefined })),
      ...inOrder
        .filter((one) => one.kind === kind && !shownAsRecent.has(one.entry))
        .map(({ entry: { entryId, text }, score }) => ({ kind, entryId, text, recent: false, score })),
    ]);
  }

  /** The entries between the bounds, ordered by folded text and then by id. An empty bound is no bound. */
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

  /**
   * Joins the recents with the same id. Joins a recent without an id with the latest other recent of the same text. The
   * joined recent is at the place of its latest recent.
   */
  private distinct(recents: readonly Recent[]): Recent[] {
    const found: Recent[] = [];
    for (const recent of recents) {
      const { entryId } = recent;
      if (entryId !== '' && found.some((other) => other.entryId === entryId)) continue;
      const same = found.findIndex((other) => this.fold(other.text) === this.fold(recent.text));
      if (same < 0 || (entryId !== '' && found[same]?.entryId !== '')) found.push(recent);
      else if (entryId !== '') found[same] = { ...(found[same] as Recent), entryId };
    }
    return found;
  }
}

/** Orders by code points, which is the order of UTF-8 bytes. */
export function compare(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
