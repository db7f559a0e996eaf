import { fold } from '../../../../src/autocomplete/text/fold';
import { isSuffixIndex, type Layer } from '../../../../src/autocomplete/index/layer/layer';
import { queryOf } from '../../../../src/autocomplete/index/search/query';
import { EMPTY_VIEW, type View, viewWith } from '../../../../src/autocomplete/index/layer/view';
import { list } from '../../../../src/autocomplete/index/search/list';
import { suggest, type PageStart } from '../../../../src/autocomplete/index/search/view-suggest';
import { Work } from '../../../../src/autocomplete/index/work';
import { kindOf, packForms, wantedKinds } from '../../../../src/autocomplete/text/match';
import { MATCH_KINDS, type MatchKind } from '../../../../src/autocomplete/suggestion';
import { allListed, layerOf, type TestEntry } from '../../../support/autocomplete/index-view';
import { between, oneOf, seeded } from '../../../support/random';

const viewOf = (...layers: readonly Layer[]): View =>
  layers.reduce((view, layer) => viewWith(view, layer, []), EMPTY_VIEW);
const queryFor = (typed: string, kinds: readonly MatchKind[]) => queryOf(typed, wantedKinds(kinds, true));

/** The kinds and ids of one page, and the steps of its search. */
function pageOf(view: View, typed: string, kinds: readonly MatchKind[], limit: number, after?: PageStart) {
  const work = new Work();
  const page = suggest(view, queryFor(typed, kinds), limit, after, work);
  if (page.kind === 'stopped') throw new Error('the search was stopped');
  const last = page.entries.at(-1);
  return {
    found: page.entries.map(({ kind, entryId }) => `${kind} ${entryId}`),
    more: page.more,
    steps: work.spent,
    next: last && {
      kind: last.kind,
      at: { score: last.score, text: last.foldedText, entryId: last.entryId },
    },
  };
}

/** What all pages together must contain. The entries are in the order of rank. */
function expectedFor(ranked: readonly TestEntry[], typed: string, kinds: readonly MatchKind[]): string[] {
  const wanted = wantedKinds(kinds, true);
  const found = ranked.map(({ id, text, aliases = [] }) => {
    const forms = packForms([text, ...aliases].map((one) => fold(one, 'kept')));
    return { id, kind: kindOf(forms, typed, wanted) };
  });
  return MATCH_KINDS.flatMap((kind) =>
    found.filter((one) => one.kind === kind).map(({ id }) => `${kind} ${id}`),
  );
}

describe('a layer of 6,000 random entries', () => {
  const random = seeded(7);
  const word = (letters: string) =>
    Array.from({ length: between(random, 1, 6) }, () => oneOf(random, [...letters])).join('');
  const entries: TestEntry[] = Array.from({ length: 6000 }, (_, number) => ({
    id: `${number}`,
    text: `${word('abcde')} ${word('abcdefg')}${number % 200 === 0 ? ' z' : ''}`,
    aliases: number % 3 === 0 ? [word('abcé')] : [],
    weight: Math.floor(random() ** 4 * 1000),
  }));
  const ranked = [...entries].sort(
    (a, b) =>
      (b.weight ?? 0) - (a.weight ?? 0) ||
      Buffer.compare(Buffer.from(a.text), Buffer.from(b.text)) ||
      Buffer.compare(Buffer.from(a.id), Buffer.from(b.id)),
  );
  const layers: readonly [string, Layer][] = [
    ['sorted', layerOf(entries)],
    ['plain', layerOf(entries, Infinity)],
  ];

  it.each(layers)('answers all pages of dense and of rare matches exactly (%s)', (_, layer) => {
    const view = viewOf(layer);
    const queries: [string, MatchKind[]][] = [
      ['a', []],
      ['b', ['contains', 'word-prefix']],
      ['z', []],
      ['z', ['contains']],
      ['é', []],
      ['ab', ['suffix', 'contains']],
      ['abcd', ['typo']],
      ['abcde a', []],
      ['abc', ['exact', 'suffix']],
      ['', ['suffix']],
    ];
    for (const [typed, kinds] of queries) {
      const expected = expectedFor(ranked, typed, kinds);
      const found: string[] = [];
      for (let after: PageStart | undefined, size = 1; ; size = (size % 97) + 16) {
        const page = pageOf(view, typed, kinds, size, after);
        found.push(...page.found);
        after = page.next;
        expect(page.more).toBe(found.length < expected.length);
        if (!page.more) break;
      }
      expect(found).toEqual(expected);
    }
  });

  it('begins a page after the place of an entry that is gone', () => {
    const view = viewOf(layers[0]?.[1] as Layer);
    const after: PageStart = { kind: 'prefix', at: { score: 100, text: 'b', entryId: 'gone' } };
    const expected = ranked
      .filter(({ text, aliases = [] }) => [text, ...aliases].some((one) => one.startsWith('a')))
      .filter(({ text, weight = 0 }) => weight < 100 || (weight === 100 && text > 'b'))
      .map(({ id }) => `prefix ${id}`);
    expect(pageOf(view, 'a', ['prefix'], 10, after).found).toEqual(expected.slice(0, 10));
  });

  it('lists from the lower bound if the place of the last page is before the bound', () => {
    const expected = [...new Set(entries.map(({ text }) => text))].filter((text) => text >= 'c').sort();
    for (const [, layer] of layers) {
      const page = list(viewOf(layer), 'c', '', 1, { text: 'b', entryId: 'zzz' }, new Work());
      expect(page.kind === 'found' && page.entries.map(({ text }) => text)).toEqual(expected.slice(0, 1));
    }
  });

  it('begins a page before all entries of a kind, and leaves out better kinds', () => {
    const expected = expectedFor(ranked, 'ab', []).filter((one) => one.startsWith('suffix'));
    for (const [, layer] of layers) {
      const page = pageOf(viewOf(layer), 'ab', [], 5, { kind: 'suffix', at: 'first' });
      expect(page.found).toEqual(expected.slice(0, 5));
    }
  });
});

describe('many entries with equal texts', () => {
  const count = 100_000;
  const equal = (text: string): Layer =>
    layerOf(Array.from({ length: count }, (_, number) => ({ id: `${number}`, text, weight: number % 3 })));
  const anna = viewOf(equal('anna'));

  it('are found by a typo with little work, also if only typos are wanted', () => {
    expect(pageOf(anna, 'anan', ['typo'], 3).found).toEqual(['typo 10001', 'typo 10004', 'typo 10007']);
    for (const typed of ['anna', 'anan', 'annabell', 'bnna', 'anxx']) {
      expect(pageOf(anna, typed, ['typo'], 10).steps).toBeLessThan(2000);
    }
  });

  it('are found on deep pages with little work, because the next ranks match', () => {
    const after: PageStart = { kind: 'contains', at: { score: 1, text: 'anna', entryId: '5' } };
    const { found, steps } = pageOf(anna, 'n', [], 3, after);
    expect(found).toEqual(['contains 50002', 'contains 50005', 'contains 50008']);
    expect(steps).toBeLessThan(200);
  });

  it('are rejected one by one within the bound of work, or the search stops', () => {
    const view = viewOf(equal('annb anna'));
    const { found, steps } = pageOf(view, 'anna', ['typo'], 10);
    expect(found).toEqual([]);
    expect(steps).toBeLessThan(10 * count);
    const bounded = suggest(view, queryFor('anna', ['typo']), 10, undefined, new Work(3000));
    expect(bounded).toEqual({ kind: 'stopped' });
  });

  it('are listed in pages with little work for equal scores', () => {
    const after = { text: 'anna', entryId: '55' };
    const work = new Work();
    const page = list(anna, 'a', 'b', 3, after, work);
    const ids = Array.from({ length: count }, (_, number) => `${number}`).sort();
    const expected = ids.slice(ids.indexOf('55') + 1).slice(0, 3);
    expect(page.kind === 'found' && page.entries.map(({ entryId }) => entryId)).toEqual(expected);
    expect(work.spent).toBeLessThan(1000);
  });

  it('are listed exactly if all have different scores', () => {
    const entries = Array.from({ length: 2000 }, (_, number) => ({
      id: `${(number * 7919) % 2000}`,
      text: number % 10 === 0 ? 'annb' : 'anna',
      aliases: number % 10 === 0 ? ['anna'] : [],
      weight: number,
    }));
    const expected = [...entries].sort(
      (a, b) =>
        Buffer.compare(Buffer.from(a.text), Buffer.from(b.text)) ||
        Buffer.compare(Buffer.from(a.id), Buffer.from(b.id)),
    );
    const listed = allListed(viewOf(layerOf(entries)), '', '', 70);
    expect(listed.map(({ entryId }) => entryId)).toEqual(expected.map(({ id }) => id));
  });
});

it('pages are exact if most candidates match by a better kind', () => {
  const entries = Array.from({ length: 8000 }, (_, number) => ({
    id: `${number}`,
    text: number % 10 === 0 ? 'xq' : 'qqqq',
    weight: 8000 - number,
  }));
  const expected = entries.filter((_, number) => number % 10 === 0).map(({ id }) => `contains ${id}`);
  for (const layer of [layerOf(entries), layerOf(entries, Infinity)]) {
    for (let limit = 60; limit < 100; limit += 1) {
      for (const start of [0, limit]) {
        const at = { score: 8000 - 10 * (start - 1), text: 'xq', entryId: 'zzz' };
        const after: PageStart = { kind: 'contains', at: start === 0 ? 'first' : at };
        const { found } = pageOf(viewOf(layer), 'q', ['prefix', 'contains'], limit, after);
        expect(found).toEqual(expected.slice(start, start + limit));
      }
    }
  }
});

describe('long and repeating texts', () => {
  const aliases = Array.from({ length: 16 }, (_, number) => 'a'.repeat(511 - number));
  const entries = Array.from({ length: 50 }, (_, number) => ({
    id: `${number}`,
    text: `${'a'.repeat(500)}${number}`,
    aliases,
  }));
  const layer = layerOf(entries);

  it('are examined once, and not again for each place of the query', () => {
    expect(isSuffixIndex(layer)).toBe(true);
    for (const kinds of [
      [],
      ['contains'],
      ['suffix'],
      ['prefix', 'contains'],
      ['suffix', 'contains'],
    ] as MatchKind[][]) {
      const { found, steps } = pageOf(viewOf(layer), 'a', kinds, 100);
      expect(found).toHaveLength(50);
      // 50 entries with 8,500 places of the query.
      expect(steps).toBeLessThan(50 * 8500);
    }
  });

  it('match a query that is longer than each text only by typos', () => {
    expect(pageOf(viewOf(layer), 'a'.repeat(512), [], 1).found).toEqual(['typo 0']);
    expect(pageOf(viewOf(layer), 'a'.repeat(514), [], 1).found).toEqual([]);
  });
});
