import type { SuggestTasks } from '../load/suggest';
import { residentBytes } from '../support/cpu';
import type { Library } from '../support/library';
import { LoadProcess } from '../support/load-process';
import { takeRounds } from '../support/rounds';
import { startBenchServer } from '../support/server';
import { quantile } from '../support/statistics';
import { corpusTitle, type Corpus } from '../words/corpus';
import { figure } from './figure';
import type { Figure } from './row';

const SMALL: Corpus = { of: 'names', count: 1000 };
const SMALL_DICTIONARIES = 20;

interface Start {
  /** The median time of the first answers from small dictionaries (ms). */
  readonly small: number;
  /** The time of the first answer from the large dictionary (ms). */
  readonly large: number;
  /** The growth of the server's resident memory by the large dictionary (bytes). */
  readonly bytes: number;
}

function question(dictionary: string) {
  return { question: { dictionary, query: 'a', kinds: [] } };
}

/** Starts a server on the Redis of the library, and asks it for the first time. */
async function start(redisUrl: string, small: readonly string[], large: string): Promise<Start> {
  const server = await startBenchServer(redisUrl);
  const client = new LoadProcess<SuggestTasks>('suggest');
  try {
    await client.ask('connect', { address: server.listen });
    const times: number[] = [];
    for (const name of small) times.push(await client.ask('first', question(name)));
    const before = residentBytes(server.pid);
    const ms = await client.ask('first', question(large));
    return { small: quantile(times, 0.5), large: ms, bytes: residentBytes(server.pid) - before };
  } finally {
    client.end();
    await server.close();
  }
}

/** The first answers of servers that have no dictionary in their memory. */
export async function coldStarts(place: Library, corpus: Corpus, rounds: number): Promise<Figure[]> {
  const { redis } = place.stage;
  const small = Array.from({ length: SMALL_DICTIONARIES }, (_, index) => `small ${index}`);
  for (const dictionary of small) await place.group.first.ask('import', { dictionary, corpus: SMALL });
  const { name } = await place.dictionary(corpus);
  const starts = await takeRounds({ warmUps: 0, rounds }, () => start(redis.url, small, name));
  for (const dictionary of small) await place.group.first.ask('drop', { dictionary });
  const of = (part: keyof Start) => starts.map((one) => one[part]);
  return [
    figure(`${corpusTitle(SMALL)}: first answer of a cold server`, 'ms', of('small'), { most: 3 }),
    figure(`${corpusTitle(corpus)}: first answer of a cold server`, 'ms', of('large'), { most: 8000 }),
    figure(
      `${corpusTitle(corpus)}: resident memory of a cold server, an entry`,
      'B',
      of('bytes').map((bytes) => bytes / corpus.count),
    ),
  ];
}
