import {
  EMBEDDED,
  LIBRARY_LINES,
  makeVariant,
  type Patch,
  patched,
  SCRIPT_LINES,
} from '../../test/support/build-variant';
import { figure, takeRounds, type Figure } from '../support/figures';
import { UnarySide } from '../support/unary-side';
import type { Row, RowContext } from './row';

const IN_FLIGHT = 32;
const CALLS = [
  ['acquire', 'AcquireLock'],
  ['renew', 'RenewLock'],
  ['release', 'ReleaseLock'],
] as const;

const EPOCHS = 'src/redis/epochs/epochs.ts';

/** The changes of the sources that remove the epoch check and the lateness check from scripts and server. */
export const WITHOUT: readonly Patch[] = [
  ...[LIBRARY_LINES, SCRIPT_LINES].map((lines) => ({
    file: EMBEDDED,
    lines,
    find: 'local function epoch_check()\\n',
    replace: 'local function epoch_check()\\nif true then return nil end\\n',
  })),
  {
    file: EMBEDDED,
    lines: LIBRARY_LINES,
    find: "epochs[place] = redis.call('GET', keys[count + place])",
    replace: 'epochs[place] = false',
  },
  {
    file: EMBEDDED,
    lines: SCRIPT_LINES,
    find: "local epoch = redis.call('GET', KEYS[2])",
    replace: 'local epoch = false',
  },
  {
    file: EPOCHS,
    find: 'readonly (string | number)[] | undefined {\n    if (this.run.id',
    replace: 'readonly (string | number)[] | undefined {\n    return NOTHING;\n    if (this.run.id',
  },
  {
    file: EPOCHS,
    find: "if (reply.word === 'GRANTED' ||",
    replace: "return undefined;\n    if (reply.word === 'GRANTED' ||",
  },
  {
    file: EPOCHS,
    find: 'export class Epochs ',
    replace: "const NOTHING = ['', 0];\nexport class Epochs ",
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
  const variant = await makeVariant(patched(WITHOUT));
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
    'scripts read and check no epoch and no time. Both servers run at the same time with their own Redis, and are measured ' +
    'in turns.',
  run,
};
