import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../support/eventually';
import { Fleet } from './fleet';
import { runScenario, type Scenario } from './scenario';

const WORK_MS = 20;

let fleet: Fleet;

beforeAll(async () => {
  fleet = await Fleet.start({ members: [{}, {}] });
});

afterAll(() => fleet?.close());

/** The number of finished rounds of a loop. */
interface Progress {
  rounds: number;
}

/** Acquires, works and releases until `isOver`. Any failure fails the test. */
async function loop(
  scenario: Scenario,
  name: string,
  index: number,
  { progress, isOver }: { progress: Progress; isOver: () => boolean },
): Promise<void> {
  const client = scenario.client(`loop ${name} ${index}`, scenario.fleet.member(index % 2));
  for (; !isOver(); progress.rounds += 1) {
    const wanted = { name, ttlMs: 3000 };
    const streamed = index < 2 ? client.hold(wanted) : undefined;
    const held = streamed === undefined ? await client.acquire(wanted) : await streamed.granted();
    await sleep(WORK_MS);
    expect(await client.release(held)).toEqual({ released: true, cause: null });
    if (streamed !== undefined) expect((await streamed.ended).code).toBe('OK');
  }
}

/** Waits until every loop has finished another round, so that each fault affects all loops. */
async function oneMoreRound(all: readonly Progress[]): Promise<void> {
  const before = all.map(({ rounds }) => rounds);
  const hasAdvanced = () => all.every(({ rounds }, index) => rounds > (before[index] ?? 0));
  await eventually('another round of every loop', hasAdvanced, { timeoutMs: 15_000 });
}

test('no client notices flushed scripts and killed connections under load', () =>
  runScenario({ fleet, title: 'unnoticed' }, async (scenario) => {
    const names = [scenario.lock('busy one'), scenario.lock('busy two')];
    const steady = scenario.lock('steady');
    let isOver = false;
    const progress: Progress[] = [];
    const start = (name: string, index: number): Promise<void> => {
      const own = { rounds: 0 };
      progress.push(own);
      return loop(scenario, name, index, { progress: own, isOver: () => isOver });
    };
    const loops = Promise.all(names.flatMap((name) => [0, 1, 2, 3].map((index) => start(name, index))));
    loops.catch(() => undefined); // The promise is awaited below.
    const alice = scenario.client('alice', fleet.member(0));
    const stream = alice.hold({ name: steady, ttlMs: 1500 });
    const held = await stream.granted();
    scenario.observer.watchLease(held);

    const faults: [() => Promise<unknown>, () => void][] = [
      [
        () => fleet.redis.command('SCRIPT', 'FLUSH'),
        () => scenario.instant('scripts_flushed', 'SCRIPT FLUSH'),
      ],
      ...['normal', 'pubsub'].map((type): [() => Promise<unknown>, () => void] => [
        () => fleet.redis.command('CLIENT', 'KILL', 'TYPE', type),
        () => scenario.instant('connections_killed', `CLIENT KILL TYPE ${type}`),
      ]),
    ];
    for (const [cause, mark] of [...faults, ...faults]) {
      await Promise.race([oneMoreRound(progress), loops]);
      mark();
      await cause();
    }
    await Promise.race([oneMoreRound(progress), loops]);
    await stream.atLeast('renewed', 1);
    isOver = true;
    await loops;
    for (const { rounds } of progress) expect(rounds).toBeGreaterThan(3);
    expect(new Set(stream.kinds)).toEqual(new Set(['granted', 'renewed']));
    await alice.release(held);
    expect((await stream.ended).code).toBe('OK');
  }));
