import fc, { type Arbitrary } from 'fast-check';
import { buildLayer } from '../../../src/autocomplete/index/build/builder';
import { EntryCollector } from '../../../src/autocomplete/index/build/collector';
import { isSuffixIndex, type Layer, type SuffixIndex } from '../../../src/autocomplete/index/layer/layer';
import { openLayer } from '../../../src/autocomplete/index/layer/layer-memory';
import { EMPTY_VIEW, type View, viewWith } from '../../../src/autocomplete/index/layer/view';
import { list } from '../../../src/autocomplete/index/search/list';
import type { TextPlace } from '../../../src/autocomplete/index/search/places';
import { queryOf } from '../../../src/autocomplete/index/search/query';
import {
  type PageStart,
  suggest,
  type SuggestedEntry,
} from '../../../src/autocomplete/index/search/view-suggest';
import { Work } from '../../../src/autocomplete/index/work';
import { IndexThread, type ThreadCalls } from '../../../src/autocomplete/loaded/thread-calls';
import { packRecord } from '../../../src/autocomplete/record';
import type { Entry, ListedEntry, MatchKind, Profile } from '../../../src/autocomplete/suggestion';
import { wantedKinds } from '../../../src/autocomplete/text/match';
import { DictionaryModel, type Expected } from './dictionary-model';
import { anyText, scriptText } from './dictionary-texts';

/** An entry as the tests of the index write it. */
export interface TestEntry {
  readonly id: string;
  readonly text: string;
  readonly aliases?: readonly string[];
  readonly weight?: number;
  readonly selections?: number;
}

export const recordOf = ({ text, aliases = [], weight = 0 }: TestEntry): Buffer =>
  packRecord({ text, aliases, weight, payload: new Uint8Array() });

export function collect(entries: readonly TestEntry[], accents: Profile['accents'] = 'kept'): EntryCollector {
  const collector = new EntryCollector(accents);
  for (const entry of entries) collector.put(Buffer.from(entry.id), recordOf(entry), entry.selections);
  return collector;
}

/** A layer in shared memory. Without `smallFormBytes` the layer has sorted positions. */
export function layerOf(entries: readonly TestEntry[], smallFormBytes = -1): Layer {
  const memory = buildLayer(collect(entries), {
    smallFormBytes,
    // Old content shows whether the builder writes every element.
    allocate: (size) => {
      const buffer = new SharedArrayBuffer(size);
      new Uint8Array(buffer).fill(0xee);
      return { buffer, byteOffset: 0 };
    },
  });
  return openLayer(memory);
}

export function indexOf(entries: readonly TestEntry[]): SuffixIndex {
  const layer = layerOf(entries);
  if (!isSuffixIndex(layer)) throw new Error('The layer has no sorted positions.');
  return layer;
}

/** Short texts of few letters repeat words and have equal beginnings. No text has control characters. */
const repetitiveText = fc.string({
  unit: fc.constantFrom('a', 'b', 'é', ' ', '-', '漢', '\u0301', '😀'),
  maxLength: 8,
});
const text = fc.oneof(repetitiveText, scriptText, anyText).map((one) => one.replace(/\p{Cc}/gu, ''));

export const someEntries = (maxLength: number): fc.Arbitrary<TestEntry[]> =>
  fc.uniqueArray(
    fc.record({
      id: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 4 }).map((id) => `id ${id}`),
      text,
      aliases: fc.array(text, { maxLength: 3 }),
      weight: fc.oneof(fc.nat(3), fc.constantFrom(65_535, 65_536, 2 ** 32, 2 ** 52)),
      selections: fc.nat(2),
    }),
    { selector: ({ id }) => id, maxLength },
  );

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

const SETTINGS = { nice: 0, dutyCycle: 1 };

/** An index thread that tests delay and end. */
export class TestIndexThread extends IndexThread {
  /** Called before each call, with its name. */
  before: (call: string) => void | Promise<void> = () => undefined;
  #losses = 0;
  #thread = new IndexThread(SETTINGS);

  constructor() {
    super(SETTINGS);
  }

  override async call<Name extends keyof ThreadCalls>(
    name: Name,
    value: ThreadCalls[Name]['takes'],
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<ThreadCalls[Name]['answers']> {
    // The calls of one turn stay in their order.
    const delay = this.before(name);
    if (delay) await delay;
    return this.#thread.call(name, value, transfer);
  }

  override get lossCount(): number {
    return this.#losses;
  }

  override close(): Promise<void> {
    return this.#thread.close();
  }

  /** Ends the thread. The next call starts another one. */
  async lose(): Promise<void> {
    const lost = this.#thread;
    this.#thread = new IndexThread(SETTINGS);
    this.#losses += 1;
    await lost.close();
  }
}
