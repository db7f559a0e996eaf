import type { SuggestTasks } from '../load/suggest';
import { residentBytes } from '../support/cpu';
import { figure, takeRounds, type Figure } from '../support/figures';
import type { Library } from '../support/library';
import { LoadProcess } from '../support/load-process';
import { startServer } from '../support/stage';
import { quantile } from '../support/statistics';
import { corpusTitle, type Corpus } from '../words/corpus';

const SMALL: Corpus = { of: 'names', count: 1000 };
const SMALL_DICTIONARIES = 20;

/** Starts a server on the Redis of the library, and asks the server for the first time. */
async function start(
  redisUrl: string,
  small: readonly string[],
  large: string,
  corpus: Corpus,
): Promise<Figure[]> {
  const server = await startServer(redisUrl);
  const client = new LoadProcess<SuggestTasks>('suggest');
  const first = (dictionary: string) =>
    client.ask('first', { question: { dictionary, query: 'a', kinds: [] } });
  try {
    await client.ask('connect', { address: server.listen });
    const times: number[] = [];
    for (const name of small) times.push(await first(name));
    const before = residentBytes(server.pid);
    const ms = await first(large);
    const bytes = (residentBytes(server.pid) - before) / corpus.count;
    const title = (of: Corpus, what: string) => `${corpusTitle(of)}: ${what}`;
    return [
      figure(title(SMALL, 'first answer of a cold server'), 'ms', quantile(times, 0.5), { most: 3 }),
      figure(title(corpus, 'first answer of a cold server'), 'ms', ms, { most: 8000 }),
      figure(title(corpus, 'resident memory of a cold server, an entry'), 'B', bytes),
    ];
  } finally {
    client.end();
    await server.close();
  }
}

/** The first answers of servers that have no dictionary in their memory. */
export async function coldStarts(place: Library, corpus: Corpus, rounds: number): Promise<Figure[]> {
  const small = Array.from({ length: SMALL_DICTIONARIES }, (_, index) => `small ${index}`);
  for (const dictionary of small) await place.group.first.ask('import', { dictionary, corpus: SMALL });
  const { name } = await place.dictionary(corpus);
  const { url } = place.stage.redis;
  const figures = await takeRounds({ warmUps: 0, rounds }, () => start(url, small, name, corpus));
  for (const dictionary of small) await place.group.first.ask('drop', { dictionary });
  return figures;
}
