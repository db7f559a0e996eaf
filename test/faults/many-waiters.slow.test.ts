import { Fleet } from './fleet';
import { runScenario, type Scenario } from './scenario';
import { runsOf } from './script-commands';

const FEW = 10;
const MANY = 500;
const TTL_MS = 3000;
const isTouch = runsOf('touch');
/** The bound of commands per touch. A touch reads at most 64 waiters, with a few commands for each. */
const COMMANDS_PER_TOUCH = 200;

let fleet: Fleet;
/** Touches are counted separately, because their number depends on time and not on hand-overs. */
let touchCount = 0;

beforeAll(async () => {
  fleet = await Fleet.start({ members: [{ redisProxy: true }, { redisProxy: true }] });
  for (const { redisProxy } of fleet.members) {
    redisProxy.on('command', (command) => {
      if (isTouch(command)) touchCount += 1;
    });
  }
});

afterAll(() => fleet?.close());

interface Cost {
  readonly handOvers: number;
  readonly touches: number;
  /** The number of runs of each Redis command, including the commands inside scripts. */
  readonly calls: ReadonlyMap<string, number>;
}

async function commandCalls(): Promise<Map<string, number>> {
  const stats = String(await fleet.redis.command('INFO', 'commandstats'));
  const calls = [...stats.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)];
  return new Map(calls.map(([, command = '', count]) => [command, Number(count)]));
}

/**
 * Hands a lock from waiter to waiter, and counts the commands from the first release to the last. The waiters take turns
 * between the servers.
 */
async function handThrough(scenario: Scenario, handOvers: number, serverCount: number): Promise<Cost> {
  const name = scenario.lock(`through ${handOvers}`, false);
  const holder = scenario.client(`holder of ${handOvers}`, fleet.member(0));
  const first = await holder.hold({ name, ttlMs: TTL_MS }).granted();
  const clients = [0, 1, 2, 3].map((index) =>
    scenario.client(`client ${index} of ${handOvers}`, fleet.member(index % serverCount)),
  );
  const order: number[] = [];
  const lineUp = async (index: number): Promise<{ turn: Promise<void> }> => {
    const client = clients[index % clients.length] ?? holder;
    const stream = client.hold({ name, ttlMs: TTL_MS });
    const position = await stream.queued();
    const turn = stream.granted(60_000).then(async (held) => {
      order.push(position);
      await client.release(held);
    });
    turn.catch(() => undefined); // The promise is awaited below.
    return { turn };
  };
  const turns: { turn: Promise<void> }[] = [];
  for (let index = 0; index < handOvers; index += 1) turns.push(await lineUp(index));
  const [before, touchesBefore] = [await commandCalls(), touchCount];
  await holder.release(first);
  await Promise.all(turns.map(({ turn }) => turn));
  const [after, touches] = [await commandCalls(), touchCount - touchesBefore];
  expect(order).toEqual(Array.from({ length: handOvers }, (_, index) => index + 1));
  const calls = new Map([...after].map(([command, count]) => [command, count - (before.get(command) ?? 0)]));
  return { handOvers, touches, calls };
}

function scriptsEach({ handOvers, touches, calls }: Cost): number {
  return ((calls.get('evalsha') ?? 0) - touches) / handOvers;
}

// A hand-over takes a release, and a renewal that tells the released stream of its end. A waiter on another server than the
// release also takes a claim.
test.each([
  ['one server', 1, 2],
  ['two servers', 2, 3],
])(
  '500 waiters of one lock at %s are granted in order, at the same cost per hand-over as 10 waiters (chapter 17)',
  (_, serverCount, scripts) =>
    runScenario({ fleet, title: `many waiters of ${serverCount}`, limitMs: 50_000 }, async (scenario) => {
      const few = await handThrough(scenario, FEW, serverCount);
      const many = await handThrough(scenario, MANY, serverCount);
      expect(scriptsEach(few)).toBeCloseTo(scripts, 0);
      expect(Math.abs(scriptsEach(many) - scriptsEach(few))).toBeLessThan(0.3);
      for (const [command, count] of many.calls) {
        const each = (few.calls.get(command) ?? 0) / few.handOvers;
        const most = (each + 0.3) * many.handOvers + many.touches * COMMANDS_PER_TOUCH;
        expect([command, Math.min(count, most)]).toEqual([command, count]);
      }
    }),
  60_000,
);
