import { constants, setPriority } from 'node:os';
import { LockClient } from '../../test/support/clients/lock-client';
import { releaseHeld } from '../load/release-held';
import type { ReadersTasks } from '../load/readers';
import { LoadGroup } from '../support/load-process';
import { takeRounds } from '../support/rounds';
import { onStage, type Stage } from '../support/stage';
import { warmUpServer } from '../support/warm-up';
import { figure } from './figure';
import type { Figure, Row, RowContext } from './row';

const PROCESSES = 4;
const TTL_MS = 120_000;

interface Round {
  /** The time from the writer's release to the last reader's grant (ms). */
  readonly allIn: number;
  /** The 99.9th percentile of the scripts' times, the longest script, and the longest single command (ms). */
  readonly nearlyAllScripts: number;
  readonly script: number;
  readonly command: number;
  readonly scriptsEach: number;
}

async function round(stage: Stage, index: number, readers: number): Promise<Round> {
  const { server, redis } = stage;
  const name = `read-${index}`;
  const group = new LoadGroup<ReadersTasks>('readers', PROCESSES);
  const writer = new LockClient(server.listen);
  try {
    const { leaseId } = await writer.acquire({ name, ttlMs: TTL_MS, waitMs: 0 });
    await group.askEach('queue', () => ({ address: server.listen, name, streams: readers / PROCESSES }));
    await redis.resetStatistics();
    const startedAt = performance.now();
    const allGranted = group.ask('granted', undefined);
    await releaseHeld(writer, leaseId);
    await allGranted;
    const allIn = performance.now() - startedAt;
    const { scripts } = await redis.commandCounts();
    const { nearlyAllScripts, script, command } = await redis.longest();
    return {
      allIn,
      nearlyAllScripts: nearlyAllScripts / 1000,
      script: script / 1000,
      command: command / 1000,
      scriptsEach: scripts / readers,
    };
  } finally {
    writer.close();
    group.end();
  }
}

async function run({ quick, say }: RowContext): Promise<Figure[]> {
  const readers = quick ? 2000 : 10_000;
  return onStage(async (stage) => {
    await warmUpServer(stage.server.listen);
    setPriority(stage.server.pid, constants.priority.PRIORITY_BELOW_NORMAL);
    const rounds = await takeRounds({ warmUps: 0, rounds: 3 }, (index) => round(stage, index, readers));
    say(`${rounds.length} rounds of ${readers} readers behind one writer`);
    const of = (part: keyof Round) => rounds.map((one) => one[part]);
    const many = `${readers.toLocaleString('en')} readers`;
    return [
      figure(`${many}: longest script`, 'ms', of('script'), { most: 5 }),
      figure(`${many}: 99.9 % of the scripts took at most`, 'ms', of('nearlyAllScripts')),
      figure(`${many}: longest single command in a script`, 'ms', of('command')),
      figure(`${many}: from the release until all are in`, 'ms', of('allIn')),
      figure(`${many}: scripts a reader`, '', of('scriptsEach')),
    ];
  });
}

export const readers: Row = {
  name: 'readers',
  title: 'Readers that wait behind a writer and are granted together',
  about:
    'HoldLock streams in LOCK_MODE_SHARED from four processes wait for one lock, and its writer releases it. Redis itself ' +
    'counts the time of the longest script. This is time, not work: it includes moments in which the system takes the ' +
    'processor or the memory from Redis. The longest single command, with a few microseconds of work, shows the length of ' +
    'such moments. The other processes run at a lower priority.',
  run,
};
