import { programs } from '../locks/programs';
import { RunningSystem } from '../locks/running-system';
import { stores, type Store, type StoreName } from '../locks/stores';
import { systems, type LockSystem, type SystemName } from '../locks/systems';
import { takeRounds } from '../support/rounds';
import { figuresOf, picture, QUEUES, type Measured, type SystemRound } from './peers-figures';
import type { Figure, Row, RowContext } from './row';

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

/** The stores that have started, or the reasons why this machine lacks a store. */
class Stores {
  private readonly opened = new Map<StoreName, Store | { readonly missing: string }>();

  async open(name: StoreName): Promise<Store | { readonly missing: string }> {
    const store = this.opened.get(name) ?? (await stores[name]());
    this.opened.set(name, store);
    return store;
  }

  async close(): Promise<void> {
    for (const store of this.opened.values()) if (!('missing' in store)) await store.close();
  }
}

async function start(
  name: SystemName,
  opened: Stores,
): Promise<RunningSystem | { readonly missing: string }> {
  const system: LockSystem = systems[name];
  const program = await programs[system.program]();
  if ('missing' in program) return program;
  const store = await opened.open(system.store);
  return 'missing' in store ? store : RunningSystem.start(name, program, store);
}

async function startAll(opened: Stores, running: RunningSystem[], say: RowContext['say']): Promise<void> {
  for (const name of Object.keys(systems) as SystemName[]) {
    const started = await start(name, opened);
    if ('missing' in started) say(`${systems[name].title} is not measured: ${started.missing}`);
    else running.push(started);
  }
}

/**
 * Node and Java need some thousand grants until their code is compiled, and Node drops the code of an idle process. So
 * each round warms up. The locks of the queue are not held, for more grants.
 */
async function round(system: RunningSystem, { warmUpMs, aloneMs, queueMs }: Lengths): Promise<SystemRound> {
  await system.queue(10, warmUpMs, 0);
  await system.alone(CLIENTS, warmUpMs);
  const alone = { cost: await system.alone(CLIENTS, aloneMs), ...(await system.latency(aloneMs)) };
  const queues: Record<number, SystemRound['queues'][number]> = {};
  for (const waiters of QUEUES) queues[waiters] = await system.queue(waiters, queueMs);
  return { alone, queues };
}

/** All systems take turns, so that a busy moment of the machine affects each of them. */
async function measure(running: readonly RunningSystem[], { quick, say }: RowContext): Promise<Measured[]> {
  const lengths = quick ? QUICK : FULL;
  say(running.map(({ system, version }) => `${system.title} ${version}`).join(', '));
  const taken = await takeRounds({ warmUps: 1, rounds: lengths.rounds }, async (index) => {
    const found: SystemRound[] = [];
    for (const system of running) found.push(await round(system, lengths));
    say(index === 0 ? 'warmed up' : `round ${index} of ${lengths.rounds}`);
    return found;
  });
  const measured: Measured[] = [];
  for (const system of running) {
    const rounds = taken.map((found) => found[measured.length] as SystemRound);
    const { version } = system;
    measured.push({ system: system.system, version, rounds, late: await system.pause() });
  }
  say('paused holders');
  return measured;
}

async function run(context: RowContext): Promise<Figure[]> {
  const opened = new Stores();
  const running: RunningSystem[] = [];
  try {
    await startAll(opened, running, context.say);
    return figuresOf(await measure(running, context));
  } finally {
    for (const system of running) await system.end();
    await opened.close();
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
    'A hand-over runs from just before the release to the next grant. A grant is in order if it goes to ' +
    'the waiter who has waited longest. Paused holders: a process that holds ten locks is stopped (SIGSTOP) until another ' +
    'process has been granted the locks, after the TTL of 2 s. When it continues, its next writes are counted: if nobody ' +
    'checks, if the holder first asks its library whether it still holds the lock, and if what the lock protects checks ' +
    'fencing tokens. Libraries have their default settings, but never give up. An uncontended acquire of the polling ' +
    'libraries is one SET NX PX, without queue, token or server: no system with a server can cost less, so these have no goal.',
  picture,
  run,
};
