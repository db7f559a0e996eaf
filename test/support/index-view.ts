import fc, { type Arbitrary } from 'fast-check';
import { EntryCollector } from '../../src/autocomplete/index/build/collector';
import type { Layer } from '../../src/autocomplete/index/layer/layer';
import { buildLayer } from '../../src/autocomplete/index/build/builder';
import { openLayer } from '../../src/autocomplete/index/layer/layer-memory';
import { queryOf } from '../../src/autocomplete/index/search/query';
import type { TextPlace } from '../../src/autocomplete/index/search/places';
import { EMPTY_VIEW, type View, viewWith } from '../../src/autocomplete/index/layer/view';
import { list } from '../../src/autocomplete/index/search/list';
import {
  suggest,
  type PageStart,
  type SuggestedEntry,
} from '../../src/autocomplete/index/search/view-suggest';
import { Work } from '../../src/autocomplete/index/work';
import { wantedKinds } from '../../src/autocomplete/text/match';
import { packRecord } from '../../src/autocomplete/record';
import type { Entry, ListedEntry, MatchKind, Profile } from '../../src/autocomplete/suggestion';
import { DictionaryModel, type Expected } from './dictionary-model';

/** Changes that make one layer of a view. */
export interface Change {
  readonly put: readonly Entry[];
  readonly select: readonly { readonly id: string; readonly count: number }[];
  readonly delete: readonly string[];
  /** True: the layer has sorted positions. */
  readonly sorted: boolean;
}

/** A layer in shared memory. */
export function testLayer(
  entries: readonly ListedEntry[],
  accents: Profile['accents'],
  sorted: boolean,
): Layer {
  const collector = new EntryCollector(accents);
  for (const entry of entries) {
    collector.put(Buffer.from(entry.entryId), packRecord(entry), entry.selectionCount);
  }
  const allocate = (size: number) => ({ buffer: new SharedArrayBuffer(size), byteOffset: 0 });
  return openLayer(buildLayer(collector, { allocate, smallFormBytes: sorted ? -1 : Infinity }));
}

/** A view with one layer for each change, and a model with the same entries. */
export function viewOf(
  changes: readonly Change[],
  profile: Profile,
): { readonly view: View; readonly model: DictionaryModel } {
  const model = new DictionaryModel(profile);
  let view = EMPTY_VIEW;
  for (const change of changes) {
    change.put.forEach((entry) => model.put(entry));
    change.select.forEach(({ id, count }) => model.select(id, count));
    change.delete.forEach((id) => model.delete([id]));
    const changed = new Set([
      ...change.put.map(({ entryId }) => entryId),
      ...change.select.map(({ id }) => id),
    ]);
    const entries = model.list('', '').filter(({ entryId }) => changed.has(entryId));
    const removed = change.delete.map((id) => Buffer.from(id));
    view = viewWith(view, testLayer(entries, profile.accents, change.sorted), removed);
  }
  return { view, model };
}

export function queryFor(text: string, kinds: readonly MatchKind[], model: DictionaryModel) {
  return queryOf(model.fold(text), wantedKinds(kinds, model.profile.typos));
}

/** All suggestions, page by page, as the model returns them. */
export function allSuggestions(
  view: View,
  query: ReturnType<typeof queryOf>,
  pageSize: number,
  work: () => Work = () => new Work(),
): Expected[] {
  const all: Expected[] = [];
  let after: PageStart | undefined;
  for (;;) {
    const page = suggest(view, query, pageSize, after, work());
    if (page.kind === 'stopped') throw new Error('the search was stopped');
    all.push(...page.entries.map(expectedOf));
    const last = page.entries.at(-1);
    if (!page.more || last === undefined) return all;
    after = { kind: last.kind, at: { score: last.score, text: last.foldedText, entryId: last.entryId } };
  }
}

export function expectedOf({ kind, entryId, text, score }: SuggestedEntry): Expected {
  return { kind, entryId, text, recent: false, score };
}

/** All entries between two folded bounds, page by page, as the model returns them. */
export function allListed(view: View, from: string, to: string, pageSize: number): ListedEntry[] {
  const all: ListedEntry[] = [];
  let after: TextPlace | undefined;
  for (;;) {
    const page = list(view, from, to, pageSize, after, new Work());
    if (page.kind === 'stopped') throw new Error('the search was stopped');
    for (const { entryId, text, aliases, weight, payload, selectionCount } of page.entries) {
      all.push({ entryId, text, aliases, weight, payload: new Uint8Array(payload), selectionCount });
    }
    const last = page.entries.at(-1);
    if (!page.more || last === undefined) return all;
    after = { text: last.foldedText, entryId: last.entryId };
  }
}

const idOf = fc.integer({ min: 0, max: 24 }).map((number) => `id ${number}`);

/** Changes of entries with these texts. Later changes replace and delete entries of earlier changes. */
export function changesOf(text: Arbitrary<string>): Arbitrary<Change[]> {
  const entry: Arbitrary<Entry> = fc.record({
    entryId: idOf,
    text: text.filter((one) => one !== ''),
    aliases: fc.array(
      text.filter((one) => one !== ''),
      { maxLength: 2 },
    ),
    weight: fc.constantFrom(0, 0, 0, 1, 256, 65_536, 2 ** 52),
    payload: fc.uint8Array({ maxLength: 3 }),
  });
  const change: Arbitrary<Change> = fc.record({
    put: fc.array(entry, { maxLength: 14 }),
    select: fc.array(fc.record({ id: idOf, count: fc.constantFrom(1, 256, 1_000_000) }), { maxLength: 2 }),
    delete: fc.array(idOf, { maxLength: 3 }),
    sorted: fc.boolean(),
  });
  return fc.array(change, { minLength: 1, maxLength: 4 });
}
