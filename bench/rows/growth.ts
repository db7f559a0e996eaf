import { MATCH_KINDS } from '../../src/engine/autocomplete/suggestion';
import { seeded } from '../../test/support/random';
import { barChart } from '../support/bar-chart';
import type { Library } from '../support/library';
import { sizeName, type Corpus } from '../words/corpus';
import { Cells } from './cells';
import { ALL_KINDS, PREFIXES } from './prefix';
import type { Figure } from './row';
import { SUBSTRINGS } from './substring';
import { TYPOS } from './typo';

const TABLE = 'CPU of server and Redis, a query';
const GROUPS = [PREFIXES, ALL_KINDS, SUBSTRINGS, TYPOS];
const CLIENTS = 64;

/** The cost of a query of each kind in a dictionary of this size. */
export async function costBySize(place: Library, corpus: Corpus, quick: boolean): Promise<Figure[]> {
  const { name } = await place.dictionary(corpus);
  const texts = await place.texts(corpus);
  const random = seeded(7);
  const cells = new Cells(TABLE, `${sizeName(corpus.count)} names`);
  for (const { title, kinds, queries } of GROUPS) {
    const numbers = kinds.map((kind) => MATCH_KINDS.indexOf(kind) + 1);
    const rounds: number[] = [];
    for (let turn = quick ? 2 : 5; turn >= 0; turn -= 1) {
      const asked = queries(random, texts, quick ? 200 : 1000);
      const questions = asked.map((query) => ({ dictionary: name, query, kinds: numbers }));
      const { server, redis } = await place.cost(questions, CLIENTS);
      rounds.push(server + redis);
    }
    // The first round is a warm-up.
    cells.add(title, rounds.slice(1), 'µs');
  }
  const { server, redis } = await place.emptyCost(quick ? 200 : 1000, CLIENTS);
  return cells.add('an empty call', server + redis, 'µs').figures;
}

/** A bar for each kind of query and each size. */
export function growthPicture(figures: readonly Figure[]): string {
  const shown = figures.filter(({ cell }) => cell?.table === TABLE);
  const series = [...new Set(shown.map(({ cell }) => cell?.column ?? ''))];
  const lines = [...new Set(shown.map(({ cell }) => cell?.line ?? ''))];
  const groups = lines.map((label) => {
    const ofLine = shown.filter(({ cell }) => cell?.line === label);
    const values = series.map((name) => ofLine.find(({ cell }) => cell?.column === name)?.value.median);
    return { label, values };
  });
  return barChart({
    title: 'Cost of a query by the size of the dictionary',
    subtitle: 'CPU of server and Redis, median of the rounds',
    series,
    panels: [{ axis: 'CPU (µs)', groups }],
  });
}
