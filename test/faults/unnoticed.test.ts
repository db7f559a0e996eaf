import { setTimeout as sleep } from 'node:timers/promises';
import { Fleet } from './fleet';
import { runScenario, type Scenario } from './scenario';

/** How long a loop's owner keeps the lock, and how far the faults are apart. */
const WORK_MS = 20;
const BETWEEN_FAULTS_MS = 700;

let fleet: Fleet;

beforeAll(async () => {
  fleet = await Fleet.start({ members: [{}, {}] });
});

afterAll(() => fleet?.close());

/** Asks, works and gives back, over and over, until `isOver`; whatever fails, fails the test. */
async function loop(scenario: Scenario, name: string, index: number, isOver: () => boolean): Promise<number> {
  const client = scenario.client(`loop ${name} ${index}`, scenario.fleet.member(index % 2));
  let rounds = 0;
  for (; !isOver(); rounds += 1) {
    const wanted = { name, ttlMs: 3000 };
    const streamed = index < 2 ? client.hold(wanted) : undefined;
    const held = streamed === undefined ? await client.acquire(wanted) : await streamed.granted();
    await sleep(WORK_MS);
    expect(await client.release(held)).toEqual({ released: true, cause: null });
    if (streamed !== undefined) expect((await streamed.ended).code).toBe('OK');
  }
  return rounds;
}

test('forgotten scripts and killed connections are noticed by nobody, under load', () =>
  runScenario({ fleet, title: 'unnoticed' }, async (scenario) => {
    const names = [scenario.lock('busy one'), scenario.lock('busy two')];
    const steady = scenario.lock('steady');
    let isOver = false;
    const loops = Promise.all(
      names.flatMap((name) => [0, 1, 2, 3].map((index) => loop(scenario, name, index, () => isOver))),
    );
    loops.catch(() => undefined); // awaited below
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
      await sleep(BETWEEN_FAULTS_MS);
      mark();
      await cause();
    }
    await sleep(BETWEEN_FAULTS_MS);
    isOver = true;
    const rounds = await loops;
    for (const count of rounds) expect(count).toBeGreaterThan(3);
    expect(new Set(stream.kinds)).toEqual(new Set(['granted', 'renewed']));
    await alice.release(held);
    expect((await stream.ended).code).toBe('OK');
  }));
