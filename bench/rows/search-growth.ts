import { seeded } from '../../test/support/random';
import { barChart, panelOf } from '../support/bar-chart';
import { tableLine, takeRounds, type Figure, type FigureSummary } from '../support/figures';
import type { Library } from '../support/library';
import { sizeName, type Corpus } from '../words/corpus';
import { numbersOf } from './search';
import { USUAL_GROUPS } from './searches';

const TABLE = 'CPU of server and Redis, a query';
const CLIENTS = 64;

/** The cost of a query of each kind in a dictionary of this size. */
export async function costBySize(place: Library, corpus: Corpus, quick: boolean): Promise<Figure[]> {
  const { name } = await place.dictionary(corpus);
  const texts = await place.texts(corpus);
  const random = seeded(7);
  const line = `${sizeName(corpus.count)} names`;
  const amount = quick ? 200 : 1000;
  const costs = await takeRounds({ warmUps: 1, rounds: quick ? 2 : 5 }, async () => {
    const figures: Figure[] = [];
    for (const { title, kinds, queries } of USUAL_GROUPS) {
      const asked = queries(random, texts, amount);
      const questions = asked.map((query) => ({ dictionary: name, query, kinds: numbersOf(kinds) }));
      const { server, redis } = await place.cost(questions, CLIENTS);
      figures.push(...tableLine(TABLE, line, { [title]: [server + redis, 'µs'] }));
    }
    return figures;
  });
  const { server, redis } = await place.emptyCost(amount, CLIENTS);
  return [...costs, ...tableLine(TABLE, line, { 'an empty call': [server + redis, 'µs'] })];
}

/** A bar for each kind of query and each size. */
export function growthPicture(figures: readonly FigureSummary[]): string {
  const shown = figures.filter(({ cell }) => cell?.table === TABLE);
  const series = [...new Set(shown.map(({ cell }) => cell?.column ?? ''))];
  return barChart({
    title: 'Cost of a query by the size of the dictionary',
    subtitle: 'CPU of server and Redis, median of the rounds',
    series,
    panels: [panelOf(figures, TABLE, series, 'CPU (µs)')],
  });
}
