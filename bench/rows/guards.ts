import { makeVariant, type Patch } from '../../test/support/build-variant';
import { figure, takeRounds, type Figure } from '../support/figures';
import { UnarySide } from '../support/unary-side';
import type { Row, RowContext } from './row';

const IN_FLIGHT = 32;
const CALLS = [
  ['acquire', 'AcquireLock'],
  ['renew', 'RenewLock'],
  ['release', 'ReleaseLock'],
] as const;

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

/** The side that runs second has warm caches, so the order alternates. */
async function round(
  sides: { readonly guarded: UnarySide; readonly bare: UnarySide },
  index: number,
  calls: number,
): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const [kind, title] of CALLS) {
    const cost = (side: keyof typeof sides) => sides[side].cost(kind, calls, IN_FLIGHT);
    const early = index % 2 === 0 ? await cost('guarded') : undefined;
    const bare = await cost('bare');
    const guarded = early ?? (await cost('guarded'));
    const name = (where: string) => `${title}: ${where} CPU by what it is without`;
    const both = (guarded.server + guarded.redis) / (bare.server + bare.redis);
    figures.push(
      figure(name('server and Redis'), '×', both, { most: 1.05 }),
      figure(name('server'), '×', guarded.server / bare.server),
      figure(name('Redis'), '×', guarded.redis / bare.redis),
    );
  }
  return figures;
}

async function run({ quick, say }: RowContext): Promise<Figure[]> {
  const variant = await makeVariant(WITHOUT);
  const opened: UnarySide[] = [];
  try {
    const [guarded, bare] = [await UnarySide.open(), await UnarySide.open({ dist: variant.folder })];
    opened.push(guarded, bare);
    const calls = quick ? 1000 : 3000;
    const counts = quick ? { warmUps: 3, rounds: 5 } : { warmUps: 5, rounds: 25 };
    say(`${counts.rounds} rounds of ${calls} calls of each kind, ${IN_FLIGHT} in flight, in turns`);
    return await takeRounds(counts, (index) => round({ guarded, bare }, index, calls));
  } finally {
    for (const side of opened) await side.close();
    await variant.remove();
  }
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
