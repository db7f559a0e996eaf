import { library, type Held, type Imported, type Library } from '../support/library';
import { people } from '../support/people';
import { inside, misspelt, typed } from '../support/queries';
import { seeded } from '../../test/support/random';
import { unchanged } from '../support/settled';
import { spreadOf } from '../support/statistics';
import type { Figure, Row, RowContext } from './row';
import { cellOf, sizeName, sizesFor } from './sizes';

/** Recents of one user: as many as a list keeps if nobody says otherwise. */
const RECENTS = 100;
const CLIENTS = 32;
/** Without typos, larger ones are not imported: bytes per entry have told by then. */
const MOST_WITHOUT_TYPOS = 200_000;

const SETTLED_MS = 1500;

function heldColumns({ script, command, slow }: Held): [column: string, unit: string, value: number][] {
  return [
    ['longest script', 'ms', script],
    ['longest single command in one', 'ms', command],
    ['scripts over 2 ms', '', slow],
  ];
}

function importFigures(count: number, typos: boolean, imported: Imported): Figure[] {
  const cell = cellOf('Imports', `${sizeName(count)}, typos ${typos ? 'on' : 'off'}`);
  const shown = (column: string, unit: string, value: number): Figure => ({
    what: `${sizeName(count)}, typos ${typos ? 'on' : 'off'}: ${column}`,
    unit,
    value: spreadOf([value]),
    cell: cell(column),
  });
  return [
    shown('memory an entry', 'B', imported.bytes),
    shown('entries a second', '', imported.entriesPerSecond),
    shown('Redis CPU an entry', 'µs', imported.redisMicros),
    shown('server CPU an entry', 'µs', imported.serverMicros),
    ...heldColumns(imported.held).map((column) => shown(...column)),
  ];
}

async function bytesOfRecents({ stage, group }: Library, users: number): Promise<number> {
  const before = await stage.redis.usedMemory();
  await group.first.ask('recents', { users, each: RECENTS });
  return ((await stage.redis.usedMemory()) - before) / users;
}

/** What a dictionary goes through once it is there. It is gone afterwards. */
function phasesOf(place: Library, { name }: Imported, count: number, amount: number) {
  const { redis } = place.stage;
  const { first } = place.group;
  const everybody = people(count);
  const random = seeded(6);
  const queries = Array.from({ length: amount }, (_, index) => [
    ...typed(random, everybody, 8, 8),
    inside(random, everybody, 2 + (index % 5)),
    misspelt(random, everybody, 8, 1 + (index % 2)),
  ]).flat();
  const questions = queries.map((query) => ({ dictionary: name, query, pageSize: 10, kinds: [] }));
  /** What is left to take apart is taken apart in the background. */
  const settled = () => unchanged(SETTLED_MS, () => redis.keyCount());
  return {
    'PutEntries of another weight': () => first.ask('put', { dictionary: name, count: amount * 10 }),
    'Suggest of all kinds': () => place.cost(questions, CLIENTS),
    'a new import, and the old entries taken apart': async () => {
      await first.ask('import', { dictionary: name, typos: true, count: count / 20 });
      await settled();
    },
    DeleteDictionary: async () => {
      await first.ask('drop', { dictionary: name });
      await settled();
    },
  } satisfies Record<string, () => Promise<unknown>>;
}

async function holdings(
  place: Library,
  dictionary: Imported,
  count: number,
  amount: number,
): Promise<Figure[]> {
  const { redis } = place.stage;
  const figures: Figure[] = [];
  for (const [phase, work] of Object.entries(phasesOf(place, dictionary, count, amount))) {
    await redis.resetStatistics();
    await work();
    const cell = cellOf(`Holding Redis, ${sizeName(count)}`, phase);
    const shown = (column: string, unit: string, value: number): Figure => ({
      what: `${sizeName(count)}, ${phase}: ${column}`,
      unit,
      value: spreadOf([value]),
      cell: cell(column),
    });
    figures.push(...heldColumns(await place.held()).map((column) => shown(...column)));
  }
  return figures;
}

async function run({ quick, say }: RowContext): Promise<Figure[]> {
  const place = await library();
  const figures: Figure[] = [];
  const sizes = sizesFor(quick);
  for (const count of sizes) {
    for (const typos of count > MOST_WITHOUT_TYPOS ? [true] : [true, false]) {
      figures.push(...importFigures(count, typos, await place.dictionary({ count, typos })));
      say(`${sizeName(count)}, typos ${typos ? 'on' : 'off'}: imported`);
    }
  }
  const users = quick ? 20 : 200;
  figures.push({
    what: `memory of a user's ${RECENTS} recents`,
    unit: 'kB',
    value: spreadOf([(await bytesOfRecents(place, users)) / 1000]),
  });
  say(`${users} users with ${RECENTS} recents each`);
  const [, count = 0] = sizes;
  const middle = await place.dictionary({ count, typos: true });
  place.forget(middle);
  return [...figures, ...(await holdings(place, middle, count, quick ? 50 : 300))];
}

export const dictionary: Row = {
  name: 'dictionary',
  title: 'What dictionaries and recents take: memory, imports, and how long Redis is held',
  about:
    'Memory is what Redis has allocated more afterwards than before. Imports are made through ImportDictionary by one ' +
    'client. How long one script holds Redis is Redis’s own count, of time, which includes moments in which the system ' +
    'takes the processor or the memory from it: the longest single command beside it says how long such moments were. ' +
    'Names are about 18 bytes long, without aliases and payload.',
  run,
};
