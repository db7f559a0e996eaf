import { MATCH_KINDS } from '../../src/engine/autocomplete/suggestion';
import { seeded } from '../../test/support/random';
import { barChart } from '../support/bar-chart';
import type { Library } from '../support/library';
import { takeRounds } from '../support/rounds';
import { sizeName, type Corpus } from '../words/corpus';
import { Cells, panelOf } from './cells';
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
    const rounds = await takeRounds({ warmUps: 1, rounds: quick ? 2 : 5 }, async () => {
      const asked = queries(random, texts, quick ? 200 : 1000);
      const questions = asked.map((query) => ({ dictionary: name, query, kinds: numbers }));
      const { server, redis } = await place.cost(questions, CLIENTS);
      return server + redis;
    });
    cells.add(title, rounds, 'µs');
  }
  const { server, redis } = await place.emptyCost(quick ? 200 : 1000, CLIENTS);
  return cells.add('an empty call', server + redis, 'µs').figures;
}

/** A bar for each kind of query and each size. */
export function growthPicture(figures: readonly Figure[]): string {
  const shown = figures.filter(({ cell }) => cell?.table === TABLE);
  const series = [...new Set(shown.map(({ cell }) => cell?.column ?? ''))];
  return barChart({
    title: 'Cost of a query by the size of the dictionary',
    subtitle: 'CPU of server and Redis, median of the rounds',
    series,
    panels: [panelOf(figures, TABLE, series, 'CPU (µs)')],
  });
}
