import { constants, setPriority } from 'node:os';
import { LockMode } from '../../generated/typescript/holdfast/v1/lease';
import { LockClient } from '../../test/support/clients/lease-client';
import { releaseHeld } from '../load/release-held';
import type { HoldTasks } from '../load/hold';
import { figure, takeRounds, type Figure } from '../support/figures';
import { LoadGroup } from '../support/load-process';
import { onStage, warmUp, type Stage } from '../support/stage';
import type { Row, RowContext } from './row';

const PROCESSES = 4;
const TTL_MS = 120_000;
const WAIT_MS = 600_000;

async function round({ server, redis }: Stage, index: number, readers: number): Promise<Figure[]> {
  const name = `read-${index}`;
  const group = new LoadGroup<HoldTasks>('hold', PROCESSES);
  const writer = new LockClient(server.listen);
  try {
    const { leaseId } = await writer.acquire({ name, ttlMs: TTL_MS, waitMs: 0 });
    await group.ask('open', {
      address: server.listen,
      streams: readers / PROCESSES,
      wanted: { name, mode: LockMode.LOCK_MODE_SHARED, ttlMs: TTL_MS, waitMs: WAIT_MS },
      isShared: true,
    });
    await redis.resetStatistics();
    const startedAt = performance.now();
    const allGranted = group.ask('granted', undefined);
    await releaseHeld(writer, leaseId);
    await allGranted;
    const ms = performance.now() - startedAt;
    const { scripts } = await redis.commandCounts();
    const { nearlyAllScripts, script, command } = await redis.longest();
    const title = (what: string) => `${readers.toLocaleString('en')} readers: ${what}`;
    return [
      figure(title('scripts until all are in'), '', scripts, { most: 300 }),
      figure(title('longest script'), 'ms', script, { most: 5 }),
      figure(title('99.9 % of the scripts took at most'), 'ms', nearlyAllScripts),
      figure(title('longest single command in a script'), 'ms', command),
      figure(title('from the release until all are in'), 'ms', ms),
    ];
  } finally {
    writer.close();
    group.end();
  }
}

async function run({ quick, say }: RowContext): Promise<Figure[]> {
  const readers = quick ? 2000 : 10_000;
  return onStage(async (stage) => {
    await warmUp(stage);
    setPriority(stage.server.pid, constants.priority.PRIORITY_BELOW_NORMAL);
    const counts = { warmUps: 0, rounds: 3 };
    say(`${counts.rounds} rounds of ${readers} readers behind one writer`);
    return takeRounds(counts, (index) => round(stage, index, readers));
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
