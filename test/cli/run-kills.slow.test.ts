import { constants } from 'node:os';
import { connect, type Holdfast } from '../../clients/typescript';
import {
  KillRound,
  type KillRoundOptions,
  type RoundResult,
  RUN_KINDS,
  type RunKind,
} from '../support/cli/kill-round';
import { closeAll } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { ServerProcess } from '../support/processes/server-process';
import { scratchFolder } from '../support/scratch-folder';

/** The rounds of each kind. KILL_ROUNDS=100 is the number of the documented run. */
const ROUNDS = Number(process.env['KILL_ROUNDS'] ?? 10);
/** The rounds that run at a time. */
const TOGETHER = 5;
/** The time of a round on a machine with busy cores. */
const ROUND_MS = 60_000;

interface Kind {
  readonly title: string;
  readonly modes: readonly string[];
  /** Default: `lock run`. */
  readonly run?: RunKind;
  readonly isStoppedAtStart?: boolean;
  readonly isUnderTimeout?: boolean;
  fault(round: KillRound): unknown;
  /** The exit codes of `holdfast`. */
  readonly codes: readonly (number | null)[];
}

type RoundKind = Pick<Kind, 'modes' | 'run' | 'isStoppedAtStart' | 'isUnderTimeout'>;

const LOST = [76];
/** `holdfast` itself was killed, or had lost the lease before. */
const KILLED = [null, 76];

let redis: RedisProcess;
/** The server of `holdfast`, which some rounds kill. */
let server: ServerProcess;
/** The server of the next holder. */
let other: ServerProcess;
let next: Holdfast;
let folder: string;
let started = 0;

beforeAll(async () => {
  redis = await RedisProcess.start({ inMemory: true });
  server = await startServer();
  other = await startServer();
  next = await connect(other.listen);
  folder = scratchFolder();
});

afterAll(() =>
  closeAll(
    () => next.close(),
    () => server.close(),
    () => other.close(),
    () => redis.close(),
  ),
);

function startServer(listen?: string): Promise<ServerProcess> {
  return ServerProcess.start({ redisUrl: redis.url, ...(listen !== undefined && { listen }) });
}

function options(kind: RoundKind): KillRoundOptions {
  const port = Number(server.listen.split(':').pop());
  const { modes, run = RUN_KINDS.lock, isStoppedAtStart = false, isUnderTimeout = false } = kind;
  return { name: `round-${started++}`, folder, port, modes, run, isStoppedAtStart, isUnderTimeout, next };
}

/** Runs some rounds at a time. `fault` gets all of them, because a server is killed for all. */
async function together(count: number, kind: RoundKind, fault: (rounds: KillRound[]) => unknown) {
  const rounds: KillRound[] = [];
  try {
    for (let i = 0; i < count; i++) rounds.push(await KillRound.start(options(kind)));
    const isWriting = await Promise.all(rounds.map((round) => round.writing()));
    const writing = rounds.filter((_, i) => isWriting[i]);
    await fault(writing);
    return await Promise.all(writing.map((round) => round.result()));
  } finally {
    await closeAll(...rounds.map((round) => () => round.close()));
  }
}

async function allRounds(kind: RoundKind, fault: (rounds: KillRound[]) => unknown) {
  const results: RoundResult[] = [];
  while (results.length < ROUNDS) {
    const count = Math.min(TOGETHER, ROUNDS - results.length);
    results.push(...(await together(count, kind, fault)));
  }
  return results;
}

function expectProtected(results: readonly RoundResult[], codes: Kind['codes']): void {
  const late = results.filter(({ lateWrites, survivors }) => lateWrites > 0 || survivors.length > 0);
  expect(late).toEqual([]);
  expect(results.filter(({ exit }) => !codes.includes(exit.code))).toEqual([]);
  expect(results.every(({ writes, gapMs }) => writes > 0 && gapMs > 0)).toBe(true);
  const writes = results.reduce((sum, round) => sum + round.writes, 0);
  const leastGap = Math.round(Math.min(...results.map(({ gapMs }) => gapMs)));
  const numbers = `${results.length} rounds, ${writes} writes, last write ≥ ${leastGap} ms before the next grant`;
  if (process.env['KILL_ROUNDS']) process.stdout.write(`${expect.getState().currentTestName}: ${numbers}\n`);
}

function killBoth(round: KillRound): void {
  round.cli.signal('SIGSTOP');
  round.killWatchdog('SIGKILL');
  round.cli.signal('SIGKILL');
}

const KINDS: readonly Kind[] = [
  { title: 'the network is cut', modes: [], codes: LOST, fault: (round) => round.cutNetwork() },
  { title: 'holdfast is stopped', modes: [], codes: LOST, fault: (round) => round.cli.signal('SIGSTOP') },
  { title: 'holdfast is killed', modes: [], codes: KILLED, fault: (round) => round.cli.signal('SIGKILL') },
  {
    title: 'the network is cut and the command ignores SIGTERM',
    modes: ['stubborn'],
    codes: LOST,
    fault: (round) => round.cutNetwork(),
  },
  {
    title: 'holdfast is stopped and the command has grandchildren that ignore SIGTERM',
    modes: ['stubborn', 'family'],
    codes: LOST,
    fault: (round) => round.cli.signal('SIGSTOP'),
  },
  {
    title: 'holdfast is killed and the command has grandchildren that ignore SIGTERM',
    modes: ['stubborn', 'family'],
    codes: KILLED,
    fault: (round) => round.cli.signal('SIGKILL'),
  },
  {
    title: 'the watchdog is killed',
    modes: ['stubborn', 'family'],
    codes: LOST,
    fault: (round) => round.killWatchdog('SIGKILL'),
  },
  {
    title: 'the watchdog is stopped and the network is cut',
    modes: ['stubborn'],
    codes: LOST,
    fault: (round) => {
      round.killWatchdog('SIGSTOP');
      round.cutNetwork();
    },
  },
  {
    title: 'the launcher is stopped at the start, and the watchdog is killed',
    modes: ['stubborn', 'family'],
    isStoppedAtStart: true,
    codes: LOST,
    fault: (round) => round.killWatchdog('SIGKILL'),
  },
  {
    title: 'the launcher is stopped at the start, the watchdog is stopped and the network is cut',
    modes: ['stubborn', 'family'],
    isStoppedAtStart: true,
    codes: LOST,
    fault: (round) => {
      round.killWatchdog('SIGSTOP');
      round.cutNetwork();
    },
  },
  {
    title: 'the launcher is killed',
    modes: ['stubborn', 'family'],
    // The command is ended as after SIGKILL, and the lease is released in order. Busy cores may lose the lease before.
    codes: [128 + constants.signals.SIGKILL, ...LOST],
    fault: (round) => round.killLauncher('SIGKILL'),
  },
  {
    title: 'holdfast and the watchdog are killed',
    modes: ['stubborn', 'family'],
    codes: KILLED,
    fault: killBoth,
  },
  {
    title: 'the network is cut and the command is a timeout with a process that ignores SIGTERM',
    modes: ['stubborn'],
    isUnderTimeout: true,
    codes: LOST,
    fault: (round) => round.cutNetwork(),
  },
  {
    title: 'holdfast and the watchdog are killed and the command is a timeout',
    modes: ['stubborn', 'family'],
    isUnderTimeout: true,
    codes: KILLED,
    fault: killBoth,
  },
  {
    title: 'the network of a semaphore run is cut and the command ignores SIGTERM',
    modes: ['stubborn'],
    run: RUN_KINDS.semaphore,
    codes: LOST,
    fault: (round) => round.cutNetwork(),
  },
  {
    title: 'the holdfast of a semaphore run is killed',
    modes: ['stubborn'],
    run: RUN_KINDS.semaphore,
    codes: KILLED,
    fault: (round) => round.cli.signal('SIGKILL'),
  },
  {
    title: 'the network of a leader is cut and the command ignores SIGTERM',
    modes: ['stubborn'],
    run: RUN_KINDS.election,
    codes: LOST,
    fault: (round) => round.cutNetwork(),
  },
  {
    title: 'the holdfast of a leader is killed',
    modes: ['stubborn'],
    run: RUN_KINDS.election,
    codes: KILLED,
    fault: (round) => round.cli.signal('SIGKILL'),
  },
];

test.each(KINDS)(
  'a command never writes after the next grant when $title',
  async (kind) => {
    const results = await allRounds(kind, (rounds) => rounds.forEach((round) => kind.fault(round)));
    expectProtected(results, kind.codes);
  },
  ROUND_MS * Math.ceil(ROUNDS / TOGETHER),
);

test(
  'a command never writes after the next grant when the server is killed',
  async () => {
    const results: RoundResult[] = [];
    while (results.length < ROUNDS) {
      const { listen } = server;
      results.push(...(await together(TOGETHER, { modes: ['stubborn'] }, () => server.kill())));
      server = await startServer(listen);
    }
    expectProtected(results, LOST);
  },
  ROUND_MS * Math.ceil(ROUNDS / TOGETHER),
);

test('the store sees late writes after SIGKILL of holdfast, watchdog and launcher, as documented', async () => {
  const [result] = await together(1, { modes: [] }, ([round]) => {
    if (round === undefined) throw new Error('no round');
    // Stopped, the three cannot kill the command when one of them is killed.
    round.cli.signal('SIGSTOP');
    round.killWatchdog('SIGSTOP');
    round.killLauncher('SIGSTOP');
    round.killLauncher('SIGKILL');
    round.killWatchdog('SIGKILL');
    round.cli.signal('SIGKILL');
  });
  expect(result?.survivors).toHaveLength(1);
});
