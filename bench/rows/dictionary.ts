import type { Imported, Library } from '../support/library';
import { library } from '../support/library';
import { sizeName, type Corpus } from '../words/corpus';
import { Cells } from './cells';
import { coldStarts } from './cold-start';
import { figure } from './figure';
import { costBySize, growthPicture } from './growth';
import type { Figure, Row, RowContext } from './row';
import { MOST_COMPARED, sizesFor } from './sizes';
import { writes } from './writes';

/** The recents of one user: the default capacity of a list. */
const RECENTS = 100;

function importCells(count: number, imported: Imported): Figure[] {
  const { entriesPerSecond, serverMicros, redisMicros, redisBytes, serverBytes, held } = imported;
  const cells = new Cells('Imports by one client', `${sizeName(count)} names`)
    .add('entries a second', entriesPerSecond)
    .add('server CPU an entry', serverMicros, 'µs')
    .add('Redis CPU an entry', redisMicros, 'µs')
    .add('Redis memory an entry', redisBytes, 'B');
  if (serverBytes !== undefined) cells.add('server memory an entry', serverBytes, 'B');
  return cells.add('longest script', held.script, 'ms').add('scripts over 2 ms', held.slow).figures;
}

/** The numbers that have goals. */
function importGoals(count: number, { entriesPerSecond, redisBytes, serverBytes }: Imported): Figure[] {
  const names = `${sizeName(count)} names`;
  const memory = serverBytes === undefined ? [] : [serverBytes];
  return [
    figure(`${names}: entries imported a second`, '', [entriesPerSecond], { least: 30_000 }),
    figure(`${names}: Redis memory an entry`, 'B', [redisBytes], { most: 80 }),
    ...memory.map((bytes) => figure(`${names}: server memory an entry`, 'B', [bytes], { most: 180 })),
  ];
}

async function bytesOfRecents({ stage, group }: Library, users: number): Promise<number> {
  const before = await stage.redis.usedMemory();
  await group.first.ask('recents', { users, each: RECENTS });
  return ((await stage.redis.usedMemory()) - before) / users;
}

async function run({ quick, say }: RowContext): Promise<Figure[]> {
  const place = await library(say);
  const corpora = sizesFor(quick).map((count): Corpus => ({ of: 'names', count }));
  const imports: Figure[] = [];
  const growth: Figure[] = [];
  let goals: Figure[] = [];
  let goalCorpus = corpora[0] as Corpus;
  // The first queries of a server cost more than later queries.
  await costBySize(place, corpora[0] as Corpus, quick);
  for (const corpus of corpora) {
    const imported = await place.dictionary(corpus);
    imports.push(...importCells(corpus.count, imported));
    if (corpus.count <= MOST_COMPARED) {
      goals = importGoals(corpus.count, imported);
      goalCorpus = corpus;
    }
    growth.push(...(await costBySize(place, corpus, quick)));
    say(`${sizeName(corpus.count)} names imported and searched`);
  }
  const users = quick ? 20 : 200;
  const kilobytes = (await bytesOfRecents(place, users)) / 1000;
  const recents = figure(`memory of a user's ${RECENTS} recents`, 'kB', [kilobytes]);
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
