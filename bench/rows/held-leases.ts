import { setTimeout as sleep } from 'node:timers/promises';
import { BenchClient } from '../load/bench-client';
import type { HoldTasks } from '../load/hold';
import { cpuMs, residentBytes } from '../support/cpu';
import { LoadGroup } from '../support/load-process';
import { takeRounds } from '../support/rounds';
import { onStage, type Stage } from '../support/stage';
import { warmUpServer } from '../support/warm-up';
import { figure } from './figure';
import type { Figure, Row, RowContext } from './row';

const PROCESSES = 4;
const TTL_MS = 30_000;
/** A stream with this ttl is renewed every 10 s, so each round has one renewal of every stream. */
const RENEWAL_INTERVAL_MS = 10_000;

/** CPU per renewal (µs). */
interface Round {
  readonly server: number;
  readonly redis: number;
  readonly perSecond: number;
}

/** The resident memory after garbage collections, when garbage does not count any more. */
async function settledBytes({ server }: Stage, bench: BenchClient): Promise<number> {
  for (let turn = 0; turn < 3; turn += 1) {
    await bench.collectGarbage();
    await sleep(300);
  }
  return residentBytes(server.pid);
}

async function renewals(stage: Stage, group: LoadGroup<HoldTasks>, forMs: number): Promise<Round> {
  const { server, redis } = stage;
  const read = async () => {
    const events = await group.ask('events', undefined);
    const lost = events.reduce((sum, { failed }) => sum + failed, 0);
    if (lost > 0) throw new Error(`${lost} streams did not keep their lease: the machine is too busy`);
    const renewed = events.reduce((sum, one) => sum + one.renewed, 0);
    return { renewed, server: cpuMs(server.pid), redis: cpuMs(redis.pid), at: performance.now() };
  };
  const before = await read();
  await sleep(forMs);
  const after = await read();
  const count = after.renewed - before.renewed;
  return {
    server: ((after.server - before.server) * 1000) / count,
    redis: ((after.redis - before.redis) * 1000) / count,
    perSecond: (count * 1000) / (after.at - before.at),
  };
}

async function run({ quick, say }: RowContext): Promise<Figure[]> {
  const streams = quick ? 2000 : 10_000;
  return onStage(async (stage) => {
    const { listen: address } = stage.server;
    await warmUpServer(address);
    const bench = new BenchClient(address);
    const group = new LoadGroup<HoldTasks>('hold', PROCESSES);
    try {
      const before = await settledBytes(stage, bench);
      const startedAt = performance.now();
      await group.askEach('open', (index) => ({
        address,
        label: `bench-${index}`,
        streams: streams / PROCESSES,
        ttlMs: TTL_MS,
      }));
      say(`${streams} streams opened in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
      const kilobytes = ((await settledBytes(stage, bench)) - before) / streams / 1000;
      // This wait leaves out the first renewals, which come in bursts like the opening of the streams.
      await sleep(RENEWAL_INTERVAL_MS);
      const counts = { warmUps: 0, rounds: quick ? 2 : 4 };
      const rounds = await takeRounds(counts, () => renewals(stage, group, RENEWAL_INTERVAL_MS));
      say(`${rounds.length} rounds of ${RENEWAL_INTERVAL_MS / 1000} s`);
      return figuresOf(streams, kilobytes, rounds);
    } finally {
      bench.close();
      group.end();
    }
  });
}

function figuresOf(streams: number, kilobytes: number, rounds: readonly Round[]): Figure[] {
  const of = (part: keyof Round) => rounds.map((one) => one[part]);
  const many = `${streams.toLocaleString('en')} streams`;
  return [
    figure(`${many}: memory a stream`, 'kB', [kilobytes], { most: 20 }),
    figure(`${many}: server CPU a renewal`, 'µs', of('server'), { most: 30 }),
    figure(`${many}: Redis CPU a renewal`, 'µs', of('redis')),
    figure(`${many}: renewals a second`, '', of('perSecond')),
  ];
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
