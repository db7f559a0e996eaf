import { makeVariant, type Patch } from '../../test/support/build-variant';
import { takeRounds } from '../support/rounds';
import { ratios } from '../support/statistics';
import { UnarySide, type UnaryCost } from '../support/unary-side';
import { figure } from './figure';
import type { Figure, Row, RowContext } from './row';

const IN_FLIGHT = 32;
const CALLS = ['acquire', 'renew', 'release'] as const;
type Call = (typeof CALLS)[number];
const NAMES: Record<Call, string> = { acquire: 'AcquireLock', renew: 'RenewLock', release: 'ReleaseLock' };

/** The changes of the build that remove the epoch check and the lateness check from scripts and server. */
export const WITHOUT: readonly Patch[] = [
  {
    file: 'generated/redis/scripts.js',
    find: 'local function epoch_check()\\n',
    replace: 'local function epoch_check()\\nif true then return nil end\\n',
  },
  {
    file: 'src/redis/epochs/epochs.js',
    find: 'epochArguments(deadline, keys) {\n',
    replace: 'epochArguments(deadline, keys) {\n        return NOTHING;\n',
  },
  {
    file: 'src/redis/epochs/epochs.js',
    find: 'epochCheck(reply, keys) {\n',
    replace: 'epochCheck(reply, keys) {\n        return undefined;\n',
  },
  {
    file: 'src/redis/epochs/epochs.js',
    find: 'class Epochs {',
    replace: 'const NOTHING = [];\nclass Epochs {',
  },
];

interface Pair {
  readonly guarded: UnaryCost;
  readonly bare: UnaryCost;
}

/** The side that runs second has warm caches, so the order alternates. */
async function pairOf(
  guarded: UnarySide,
  bare: UnarySide,
  isGuardedFirst: boolean,
  cost: (side: UnarySide) => Promise<UnaryCost>,
): Promise<Pair> {
  if (isGuardedFirst) {
    const first = await cost(guarded);
    return { guarded: first, bare: await cost(bare) };
  }
  const first = await cost(bare);
  return { guarded: await cost(guarded), bare: first };
}

async function run({ quick, say }: RowContext): Promise<Figure[]> {
  const variant = await makeVariant(WITHOUT);
  const sides: UnarySide[] = [];
  try {
    const [guarded, bare] = [await UnarySide.open(), await UnarySide.open({ dist: variant.folder })];
    sides.push(guarded, bare);
    const calls = quick ? 1000 : 3000;
    const counts = quick ? { warmUps: 3, rounds: 5 } : { warmUps: 5, rounds: 25 };
    const rounds = await takeRounds(counts, async (index) => {
      const pairs: Pair[] = [];
      for (const kind of CALLS) {
        pairs.push(await pairOf(guarded, bare, index % 2 === 0, (side) => side.cost(kind, calls, IN_FLIGHT)));
      }
      return pairs;
    });
    say(`${rounds.length} rounds of ${calls} calls of each kind, ${IN_FLIGHT} in flight, in turns`);
    return CALLS.flatMap((kind, place) =>
      figuresOf(
        kind,
        rounds.map((pairs) => pairs[place] as Pair),
      ),
    );
  } finally {
    for (const side of sides) await side.close();
    await variant.remove();
  }
}

function figuresOf(kind: Call, pairs: readonly Pair[]): Figure[] {
  const byBare = (what: (cost: UnaryCost) => number) =>
    ratios(
      pairs.map(({ guarded }) => what(guarded)),
      pairs.map(({ bare }) => what(bare)),
    );
  const name = (where: string) => `${NAMES[kind]}: ${where} CPU by what it is without`;
  return [
    figure(
      name('server and Redis'),
      '×',
      byBare(({ server, redis }) => server + redis),
      { most: 1.05 },
    ),
    figure(
      name('server'),
      '×',
      byBare(({ server }) => server),
    ),
    figure(
      name('Redis'),
      '×',
      byBare(({ redis }) => redis),
    ),
  ];
}

export const guards: Row = {
  name: 'guards',
  title: 'The cost of epochs and lateness',
  about:
    'CPU of a call, divided by the CPU of the same call to a server without both checks: a copy of the build in which ' +
    'scripts get and check no epoch and no time. Both servers run at the same time with their own Redis, and are measured ' +
    'in turns.',
  run,
};
