import { setTimeout as sleep } from 'node:timers/promises';
import type { HoldTasks } from '../load/hold';
import { figure, takeRounds, type Figure } from '../support/figures';
import { LoadGroup } from '../support/load-process';
import { costOf, growthOf, memoryGrowth, onStage, warmUp, type Stage } from '../support/stage';
import { sum } from '../support/statistics';
import type { Row, RowContext } from './row';

const PROCESSES = 4;
const TTL_MS = 30_000;
/** A stream with this ttl is renewed every 10 s, so each round has one renewal of every stream. */
const RENEWAL_INTERVAL_MS = 10_000;

type Group = LoadGroup<HoldTasks>;

async function renewals(group: Group): Promise<number> {
  const events = await group.ask('events', undefined);
  const lost = sum(events.map(({ failed }) => failed));
  if (lost > 0) throw new Error(`${lost} streams did not keep their lease: the machine is too busy`);
  return sum(events.map(({ renewed }) => renewed));
}

async function measure(stage: Stage, group: Group, { quick, say }: RowContext): Promise<Figure[]> {
  const streams = quick ? 2000 : 10_000;
  const name = (what: string) => `${streams.toLocaleString('en')} streams: ${what}`;
  const { listen: address } = stage.server;
  const each = { address, streams: streams / PROCESSES };
  const { resident } = await memoryGrowth(stage, () =>
    group.askEach('open', (index) => ({
      ...each,
      wanted: { name: `bench-${index}`, ttlMs: TTL_MS, waitMs: 0 },
    })),
  );
  say(`${streams} streams opened`);
  // This wait leaves out the first renewals, which come in bursts like the opening of the streams.
  await sleep(RENEWAL_INTERVAL_MS);
  const counts = { warmUps: 0, rounds: quick ? 2 : 4 };
  const costs = await takeRounds(counts, async () => {
    const work = () => growthOf(() => renewals(group), RENEWAL_INTERVAL_MS);
    const { server, redis, perSecond } = await costOf(stage, work);
    return [
      figure(name('server CPU a renewal'), 'µs', server, { most: 30 }),
      figure(name('Redis CPU a renewal'), 'µs', redis),
      figure(name('renewals a second'), '', perSecond),
    ];
  });
  say(`${counts.rounds} rounds of ${RENEWAL_INTERVAL_MS / 1000} s`);
  return [figure(name('memory a stream'), 'kB', resident / streams / 1000, { most: 12 }), ...costs];
}

async function run(context: RowContext): Promise<Figure[]> {
  return onStage(async (stage) => {
    await warmUp(stage);
    const group: Group = new LoadGroup('hold', PROCESSES);
    try {
      return await measure(stage, group, context);
    } finally {
      group.end();
    }
  });
}

export const heldLeases: Row = {
  name: 'held-leases',
  title: 'Held leases: streams that renew themselves',
  about:
    'HoldLock streams with a TTL of 30 s from four processes, one connection each. Memory is the growth of the ' +
    "server's resident memory, read after garbage collections. The CPU of a renewal is the whole CPU of the server while " +
    'nothing else happens, divided by the number of `renewed` events: timer, script, reply, event to the client, and ' +
    'keep-alive pings.',
  run,
};
