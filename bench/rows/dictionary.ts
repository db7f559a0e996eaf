import { library, type Held, type Imported, type Library } from '../support/library';
import { people } from '../support/people';
import { inside, misspelt, typed } from '../support/queries';
import { seeded } from '../../test/support/random';
import { unchanged } from '../support/settled';
import { spreadOf } from '../support/statistics';
import type { Figure, Row, RowContext } from './row';
import { cellOf, secondSize, sizeName, sizesFor } from './sizes';

/** The recents of one user: the default capacity of a list. */
const RECENTS = 100;
const CLIENTS = 32;
/** Larger dictionaries are not imported without typos, because the bytes per entry hardly change any more. */
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

/** The phases of a dictionary after its import. The last phase deletes the dictionary. */
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
  /** Waits until the sweeper has removed the old entries. */
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
  const count = secondSize(sizes);
  const middle = await place.dictionary({ count, typos: true });
  place.forget(middle);
  return [...figures, ...(await holdings(place, middle, count, quick ? 50 : 300))];
}

export const dictionary: Row = {
  name: 'dictionary',
  title: 'Cost of dictionaries and recents: memory, imports, and longest blocking of Redis',
  about:
    'Memory is the growth of Redis’s allocated bytes. One client imports through ImportDictionary. Redis itself counts how ' +
    'long a script blocks it. This is time, not work: it includes moments in which the system takes the processor or the ' +
    'memory from Redis. The longest single command shows the length of such moments. Names have about 18 bytes, no aliases ' +
    'and no payload.',
  run,
};
