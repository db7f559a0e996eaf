import type { UnaryTasks } from '../load/unary';
import { LoadGroup } from '../support/load-process';
import { closeStage, openStage, type Stage } from '../support/stage';
import { ratios, spreadOf } from '../support/statistics';
import { makeVariant, type Patch } from '../../test/support/build-variant';
import type { Figure, Row, RowContext } from './row';
import { PROCESSES, slice } from './unary';

const IN_FLIGHT = 16;
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

/** The CPU of one call (µs). */
interface Cost {
  readonly server: number;
  readonly redis: number;
}

class Side {
  private readonly group = new LoadGroup<UnaryTasks>('unary', PROCESSES);

  private constructor(private readonly stage: Stage) {}

  static async open(built?: string): Promise<Side> {
    const side = new Side(await openStage(built === undefined ? {} : { dist: built }));
    const { listen: address } = side.stage.server;
    await side.group.askEach('connect', (index) => ({ address, label: `bench-${index}` }));
    return side;
  }

  cost(kind: Call, calls: number): Promise<Cost> {
    return slice(this.stage, this.group, kind, IN_FLIGHT, calls);
  }

  async close(): Promise<void> {
    this.group.end();
    await closeStage(this.stage);
  }
}

type Round = Record<Call, { readonly guarded: Cost; readonly bare: Cost }>;

async function run({ quick, say }: RowContext): Promise<Figure[]> {
  const variant = await makeVariant(WITHOUT);
  const sides: Side[] = [];
  try {
    const [guarded, bare] = [await Side.open(), await Side.open(variant.folder)];
    sides.push(guarded, bare);
    const calls = quick ? 1000 : 3000;
    const warmUps = quick ? 3 : 5;
    const rounds: Round[] = [];
    for (let index = 0; index < warmUps + (quick ? 5 : 25); index += 1) {
      const round: Partial<Round> = {};
      for (const kind of CALLS) {
        // The side that runs second has warm caches, so the order alternates.
        if (index % 2 === 0) {
          const first = await guarded.cost(kind, calls);
          round[kind] = { guarded: first, bare: await bare.cost(kind, calls) };
        } else {
          const first = await bare.cost(kind, calls);
          round[kind] = { guarded: await guarded.cost(kind, calls), bare: first };
        }
      }
      if (index >= warmUps) rounds.push(round as Round);
    }
    say(
      `${rounds.length} rounds of ${calls} calls of each kind, ${PROCESSES * IN_FLIGHT} in flight, in turns`,
    );
    return CALLS.flatMap((kind) => figuresOf(kind, rounds));
  } finally {
    for (const side of sides) await side.close();
    await variant.remove();
  }
}

function figuresOf(kind: Call, rounds: readonly Round[]): Figure[] {
  const of = (side: 'guarded' | 'bare', what: (cost: Cost) => number) =>
    rounds.map((round) => what(round[kind][side]));
  const figure = (where: string, what: (cost: Cost) => number, goal?: Figure['goal']): Figure => ({
    what: `${NAMES[kind]}: ${where} CPU by what it is without`,
    unit: '×',
    value: spreadOf(ratios(of('guarded', what), of('bare', what))),
    ...(goal && { goal }),
  });
  return [
    figure('server and Redis', ({ server, redis }) => server + redis, { most: 1.05 }),
    figure('server', ({ server }) => server),
    figure('Redis', ({ redis }) => redis),
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
