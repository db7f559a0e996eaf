import { programs } from '../locks/programs';
import { RunningSystem } from '../locks/running-system';
import { stores } from '../locks/stores';
import { systems, type LockSystem, type SystemName } from '../locks/systems';
import { takeRounds, type Figure } from '../support/figures';
import { abilityLine, StartedOnce } from '../support/yardsticks';
import { lateFigures, picture, QUEUES, roundFigures, type Taken } from './peers-figures';
import type { Row, RowContext } from './row';

/** Clients of the two processes together, for the cost without contention. */
const CLIENTS = 16;

interface Lengths {
  readonly rounds: number;
  readonly warmUpMs: number;
  readonly aloneMs: number;
  readonly queueMs: number;
}

const FULL: Lengths = { rounds: 5, warmUpMs: 3000, aloneMs: 1000, queueMs: 1500 };
const QUICK: Lengths = { rounds: 1, warmUpMs: 1000, aloneMs: 300, queueMs: 800 };

/**
 * Node and Java need some thousand grants until their code is compiled, and Node drops the code of an idle process. So
 * each round warms up. The locks of the queue are not held, for more grants.
 */
async function take(running: RunningSystem, { warmUpMs, aloneMs, queueMs }: Lengths): Promise<Taken> {
  await running.queue(10, warmUpMs, 0);
  await running.alone(CLIENTS, warmUpMs);
  const alone = { cost: await running.alone(CLIENTS, aloneMs), ...(await running.latency(aloneMs)) };
  const queues: Taken['queues'][number][] = [];
  for (const waiters of QUEUES) queues.push(await running.queue(waiters, queueMs));
  return { system: running.system, alone, queues };
}

/** All systems take turns, so that a busy moment of the machine affects each of them. */
async function measure(running: readonly RunningSystem[], { quick, say }: RowContext): Promise<Figure[]> {
  const lengths = quick ? QUICK : FULL;
  say(running.map(({ system, version }) => `${system.title} ${version}`).join(', '));
  const figures = await takeRounds({ warmUps: 1, rounds: lengths.rounds }, async (index) => {
    const taken: Taken[] = [];
    for (const system of running) taken.push(await take(system, lengths));
    say(index === 0 ? 'warmed up' : `round ${index} of ${lengths.rounds}`);
    return roundFigures(taken);
  });
  for (const system of running) figures.push(...lateFigures(system.system, await system.pause()));
  say('paused holders');
  return [
    ...figures,
    ...running.flatMap(({ system, version }) => abilityLine('what each system offers', system, version)),
  ];
}

async function run(context: RowContext): Promise<Figure[]> {
  const opened = new StartedOnce((name: keyof typeof stores) => stores[name]());
  const started = new StartedOnce(async (name: SystemName) => {
    const system: LockSystem = systems[name];
    const program = await programs[system.program]();
    if ('missing' in program) return program;
    const store = await opened.get(system.store);
    return 'missing' in store ? store : RunningSystem.start(name, program, store);
  });
  try {
    const names = Object.keys(systems) as SystemName[];
    return await measure(await started.all(systems, names, context.say), context);
  } finally {
    await started.end();
    await opened.end();
  }
}

export const peers: Row = {
  name: 'peers',
  title: 'Holdfast’s lock compared with locks of other systems',
  about:
    'Every system has two processes of clients and its own server: Redis (`appendfsync always`), etcd or ZooKeeper, all with ' +
    'their data in memory. CPU is the sum over all processes for a grant with its release, and then each part apart, because ' +
    'clients differ in language. `alone` is 16 clients with 100 locks each for CPU, and one client for times. In a queue the ' +
    'lock is held for 2 ms, and a new waiter starts to wait before a holder releases, so the number of waiters is constant. ' +
    'A hand-over runs from just before the release to the next grant. A grant is in order if it passes ' +
    'no waiter that was known to be queued when the wait of the grant began: the process of this waiter had sent a release ' +
    'after the begin of its wait, and the release had led to the next grant. Paused holders: a process that holds ten locks is stopped (SIGSTOP) until another ' +
    'process has been granted the locks, after the TTL of 2 s. When it continues, its next writes are counted: if nobody ' +
    'checks, if the holder first asks its library whether it still holds the lock, and if what the lock protects checks ' +
    'fencing tokens. Libraries have their default settings, but never give up. An uncontended acquire of the polling ' +
    'libraries is one SET NX PX, without queue, token or server: no system with a server can cost less, so these have no goal.',
  picture,
  run,
};
