import { figure, tableLine, type Figure } from '../support/figures';
import { library, type Imported, type Library } from '../support/library';
import { sizeName, type Corpus } from '../words/corpus';
import { coldStarts } from './cold-start';
import type { Row, RowContext } from './row';
import { costBySize, growthPicture } from './search-growth';
import { MOST_COMPARED, sizesFor } from './sizes';
import { writes } from './writes';

/** The recents of one user: the default capacity of a list. */
const RECENTS = 100;

function importLine(count: number, { cost, redisBytes, serverBytes, longest }: Imported): Figure[] {
  return tableLine('Imports by one client', `${sizeName(count)} names`, {
    'entries a second': cost.perSecond,
    'server CPU an entry': [cost.server, 'µs'],
    'Redis CPU an entry': [cost.redis, 'µs'],
    'Redis memory an entry': [redisBytes, 'B'],
    'server memory an entry': serverBytes === undefined ? undefined : [serverBytes, 'B'],
    'longest script': [longest.script, 'ms'],
    'scripts over 2 ms': longest.slow,
  });
}

/** The numbers that have goals. */
function importGoals(count: number, { cost, redisBytes, serverBytes }: Imported): Figure[] {
  const name = (what: string) => `${sizeName(count)} names: ${what}`;
  const memory = serverBytes === undefined ? [] : [serverBytes];
  return [
    figure(name('entries imported a second'), '', cost.perSecond, { least: 30_000 }),
    figure(name('Redis memory an entry'), 'B', redisBytes, { most: 80 }),
    ...memory.map((bytes) => figure(name('server memory an entry'), 'B', bytes, { most: 180 })),
  ];
}

async function bytesOfRecents({ stage, group }: Library, users: number): Promise<number> {
  const before = await stage.redis.usedMemory();
  await group.first.ask('recents', { users, each: RECENTS });
  return ((await stage.redis.usedMemory()) - before) / users;
}

async function run(context: RowContext): Promise<Figure[]> {
  const { quick, say } = context;
  const place = await library(say);
  const corpora = sizesFor(context).map((count): Corpus => ({ of: 'names', count }));
  const imports: Figure[] = [];
  const growth: Figure[] = [];
  let goals: Figure[] = [];
  let goalCorpus = corpora[0] as Corpus;
  // The first queries of a server cost more than later queries.
  await costBySize(place, corpora[0] as Corpus, quick);
  for (const corpus of corpora) {
    const imported = await place.dictionary(corpus);
    imports.push(...importLine(corpus.count, imported));
    if (corpus.count <= MOST_COMPARED) {
      goals = importGoals(corpus.count, imported);
      goalCorpus = corpus;
    }
    growth.push(...(await costBySize(place, corpus, quick)));
    say(`${sizeName(corpus.count)} names imported and searched`);
  }
  const kilobytes = (await bytesOfRecents(place, quick ? 20 : 200)) / 1000;
  const recents = figure(`memory of a user's ${RECENTS} recents`, 'kB', kilobytes);
  const cold = await coldStarts(place, goalCorpus, quick ? 1 : 3);
  say('cold starts measured');
  return [...goals, ...cold, recents, ...imports, ...growth, ...(await writes(place, corpora, quick))];
}

export const dictionary: Row = {
  name: 'dictionary',
  title: 'Cost of dictionaries by size: imports, memory, searches, writes and the start of a server',
  about:
    'Names have two words and about 18 bytes, no aliases and no payload; their ids are decimal numbers. Memory in Redis is ' +
    'the growth of Redis’s allocated bytes. Memory in the server is what GetDictionary tells, and the growth of the resident ' +
    'memory of a new server. One client imports through ImportDictionary. A cold start is the first Suggest to a new server ' +
    'that already listens, until its answer. Redis itself counts how long a script blocks it. This is time, not work: it ' +
    'includes moments in which the system takes the processor or the memory from Redis.',
  picture: growthPicture,
  run,
};
