import { setTimeout as sleep } from 'node:timers/promises';
import { figure, takeRounds, type Figure } from '../support/figures';
import { run, withSessions, type SessionGroup } from '../support/session-group';
import { costOf, growthOf, memoryGrowth, onStage, warmUp, type Stage } from '../support/stage';
import { sum } from '../support/statistics';
import type { Row, RowContext } from './row';
import { sessionMoves } from './session-move';

/** The sessions that hold leases. */
const HOLDERS = 20;
/** A lease with a TTL of 30 s is renewed every 10 s, so each round has one renewal of each lease. */
const RENEWAL_INTERVAL_MS = 10_000;

/** The renewals so far. A lost lease means that the machine was too busy. */
async function renewals(group: SessionGroup): Promise<number> {
  const events = await group.ask('events', undefined);
  const lost = events.flatMap((one) => one.lost);
  if (lost.length > 0) {
    throw new Error(`${lost.length} leases of sessions were lost: ${[...new Set(lost)].join(', ')}`);
  }
  return sum(events.map(({ renewed }) => renewed));
}

async function heldLeases({ quick, say }: RowContext): Promise<Figure[]> {
  const leases = quick ? 10_000 : 100_000;
  return onStage(async (stage) => {
    await warmUp(stage);
    return withSessions(stage, HOLDERS, async (group) => {
      const { held, resident } = await memoryGrowth(stage, () => run(group, 'acquire', leases));
      const name = `${leases} leases of ${HOLDERS} sessions`;
      say(name);
      // This wait leaves out the first renewals, which come in bursts like the acquires.
      await sleep(RENEWAL_INTERVAL_MS);
      const counts = { warmUps: 0, rounds: quick ? 2 : 60 };
      const costs = await takeRounds(counts, () => renewalRound(stage, group, leases));
      return [
        figure(`${name}: server memory a lease`, 'kB', held / leases / 1000, { most: 1.5 }),
        figure(`${name}: resident memory a lease`, 'kB', resident / leases / 1000),
        ...costs,
      ];
    });
  });
}

async function renewalRound(stage: Stage, group: SessionGroup, leases: number): Promise<Figure[]> {
  const work = () => growthOf(() => renewals(group), RENEWAL_INTERVAL_MS);
  const { server, redis, perSecond } = await costOf(stage, work);
  const name = (what: string) => `${leases} leases of ${HOLDERS} sessions: ${what}`;
  return [
    figure(name('server CPU a renewal'), 'µs', server, { most: 30 }),
    figure(name('Redis CPU a renewal'), 'µs', redis, { most: 10 }),
    figure(name('renewals a second'), '', perSecond),
    figure(name('cores of server and Redis'), '', ((server + redis) * perSecond) / 1e6, { most: 0.5 }),
  ];
}

export const sessionLeases: Row = {
  name: 'session-leases',
  title: 'Sessions: many held leases, and their move to another server',
  about:
    "20 sessions hold leases with a TTL of 30 s for ten minutes: memory is the growth of the server's values and buffers, " +
    'read after garbage collections. Resident memory also has the pages that V8 keeps between them. The CPU of a renewal ' +
    'is the whole CPU of the server while nothing else happens, divided by the renewals: timers, scripts, replies, messages ' +
    'and heartbeats. Then one session holds 10,000 leases while its server is killed with SIGKILL. Its client attaches to ' +
    'all at another server, 1,000 attaches in flight, without the pause of up to 1 s that clients make at random.',
  run: async (context) => [...(await heldLeases(context)), ...(await sessionMoves(context))],
};
