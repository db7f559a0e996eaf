/** Commands of sessions, with a fixed number of commands in flight, and leases that sessions hold. */
import { setTimeout as sleep } from 'node:timers/promises';
import { lock, release } from '../../test/support/clients/session-stream';
import { BenchSession } from './bench-session';
import { inFlight, type Amount } from './in-flight';
import { serveTasks } from './serve-tasks';

const OVERLOADED_PAUSE_MS = 100;

const sessions: BenchSession[] = [];
let label = '';
/** The lease numbers of `acquire`, by index. */
const held: number[] = [];

function sessionOf(index: number): BenchSession {
  const session = sessions[index % sessions.length];
  if (session === undefined) throw new Error('call connect first');
  return session;
}

async function acquire(session: BenchSession, name: string, ttlMs: number): Promise<number> {
  for (;;) {
    const { number, event } = await session.run(lock(name, { ttlMs }));
    if (event.$case === 'granted') return number;
    const reason = event.$case === 'failed' ? event.value.reasonText : event.$case;
    // A busy machine refuses some of a hundred thousand acquires.
    if (reason !== 'OVERLOADED') throw new Error(`${name}: ${reason}`);
    await sleep(OVERLOADED_PAUSE_MS);
  }
}

async function giveBack(session: BenchSession, leaseNumber: number): Promise<void> {
  const { event } = await session.run(release(leaseNumber));
  if (event.$case !== 'released' || !event.value.released) {
    throw new Error('a lease was lost: the machine is too busy for this benchmark');
  }
}

const TTL_MS = 30_000;

const works = {
  /** Acquires a different lock with each command. */
  acquire: async (index: number) =>
    void (held[index] = await acquire(sessionOf(index), `${label}-${index}`, TTL_MS)),
  release: (index: number) => giveBack(sessionOf(index), held[index] ?? 0),
  /** Acquires and releases in turn. Each client has its own lock. */
  pairs: async (_: number, client: number) => {
    const session = sessionOf(client);
    await giveBack(session, await acquire(session, `${label}-${client}`, TTL_MS));
  },
} satisfies Readonly<Record<string, (index: number, client: number) => Promise<void>>>;

export type SessionWork = keyof typeof works;

const tasks = {
  /** Opens `count` sessions, each on a connection of its own. */
  connect: async (to: { address: string; label: string; count: number; token?: string | undefined }) => {
    label = to.label;
    for (let index = 0; index < to.count; index += 1) sessions.push(new BenchSession(to.address, to.token));
    await Promise.resolve();
  },
  work: ({ kind, ...amount }: Amount & { kind: SessionWork }) => inFlight(amount, works[kind]),
  /** The renewals of all leases so far, and the leases that were lost. */
  events: () =>
    Promise.resolve(
      sessions.reduce(
        ({ renewed, lost }, session) => ({
          renewed: renewed + session.renewed,
          lost: [...lost, ...session.lost],
        }),
        { renewed: 0, lost: [] as string[] },
      ),
    ),
};

export type SessionTasks = typeof tasks;

serveTasks(tasks);
