import { setTimeout as sleep } from 'node:timers/promises';
import { attacks } from '../support/attacks';
import type { AttackReport } from '../support/attacks/attack';
import { AttackProcess } from '../support/attacks/attack-process';
import { Bystanders } from '../support/attacks/bystanders';
import { InnocentClient } from '../support/attacks/innocent-client';
import type { Outcome } from '../support/attacks/frame-connection';
import { closeAll } from '../support/close-all';
import { eventuallyPasses } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { InProcessServer } from './in-process-server';

/** Small attacks. `npm run bench -- overload` runs the whole attacks, and measures times. */

const ATTACK_MS = 6000;
const STREAMS = 100;
/** Long enough for a machine with busy cores, and short enough for several renewals during an attack. */
const STREAM_TTL_MS = 8000;
const PER_SECOND = 20;

/** What may become of the attacker's calls. The store works, so that no call has an unknown outcome. */
const EXPECTED: readonly Outcome[] = [
  // The attacker, the end of the attack or the server's library cuts the call off.
  ...['reset', 'no answer', 'connection ended'],
  ...['OK', 'CONTENDED', 'QUEUE_FULL', 'QUOTA_EXCEEDED', 'OVERLOADED'],
];

/** A part of the whole attack, which an attacker, a server and its other clients can run on a busy machine. */
const SCALES: Readonly<Record<string, number>> = {
  'try-once': 0.4,
  'try-once-spread': 0.4,
  'waiters-one-name': 0.1,
  'waiters-many-names': 0.1,
  'rapid-resets': 0.2,
  'acquire-and-reset': 0.2,
  'unread-answers': 0.1,
  'unfinished-calls': 0.1,
};

let redis: RedisProcess;
beforeAll(async () => {
  redis = await RedisProcess.start({ inMemory: true });
});
afterAll(() => redis?.close());

interface Scene {
  readonly server: InProcessServer;
  readonly bystanders: Bystanders;
  readonly innocent: InnocentClient;
  /** The name that an attack on one name uses. */
  readonly attackedName: string;
  attack(name: string): Promise<AttackReport>;
}

/** Starts a server with its other clients. At the end the server must have no open operation and no warning. */
async function withServer(label: string, work: (scene: Scene) => Promise<void>): Promise<void> {
  const server = await InProcessServer.start(redis.url);
  const { address } = server;
  const attackedName = `${label}-attack`;
  const open: { close(): unknown }[] = [];
  const attack = async (name: string): Promise<AttackReport> => {
    const scale = SCALES[name];
    if (scale === undefined) throw new Error(`SCALES lacks the attack ${name}`);
    const target = { address, label: attackedName, forMs: ATTACK_MS, scale, tryOnceTtlMs: STREAM_TTL_MS };
    const process = await AttackProcess.start(name, target);
    open.push(process);
    return process.report();
  };
  try {
    const bystanders = await Bystanders.open({
      address,
      label: `${label}-bystander`,
      streams: STREAMS,
      connections: 10,
      ttlMs: STREAM_TTL_MS,
    });
    open.push(bystanders);
    const innocent = new InnocentClient({ address, label: `${label}-innocent`, perSecond: PER_SECOND });
    open.push(innocent);
    await work({ server, bystanders, innocent, attackedName, attack });
  } finally {
    await closeAll(...open.map((one) => () => one.close()), () => server.close());
  }
}

test.each(attacks)(
  'the attack $name takes no lease of another client, and leaves no work behind',
  ({ name }) =>
    withServer(name, async ({ server, bystanders, innocent, attackedName, attack }) => {
      const startedAt = performance.now();
      const { outcomes } = await attack(name);
      await eventuallyPasses('no wait, no give-back, and only the streams of the bystanders', () => {
        const [waitingCount, watchedCount, givingBackCount] = [0, 0, 0];
        const heldCount = STREAMS;
        expect(server.stats).toMatchObject({ waitingCount, watchedCount, givingBackCount, heldCount });
      });
      const observer = server.client();
      await eventuallyPasses('an empty queue', async () => {
        expect(await observer.get(attackedName)).toMatchObject({ waiterCount: 0 });
      });
      // A lease that could not be renewed during the attack ends within one ttl.
      await sleep(STREAM_TTL_MS);
      await innocent.stop();
      const { lost, ended } = bystanders.counts;
      expect({ lost, ended }).toEqual({ lost: {}, ended: {} });
      const calls = innocent.between(startedAt, performance.now());
      const of = (call: 'acquire' | 'release') =>
        new Set(calls.filter((one) => one.call === call).map(({ outcome }) => outcome ?? 'no answer'));
      // A server that is too busy for any acquire may refuse every acquire, but no release.
      expect([...of('acquire')].filter((outcome) => !['OK', 'OVERLOADED'].includes(outcome))).toEqual([]);
      expect([...of('release')].filter((outcome) => outcome !== 'OK')).toEqual([]);
      const unexpected = Object.entries(outcomes).filter(([outcome]) => !EXPECTED.includes(outcome));
      expect(unexpected).toEqual([]);
    }),
);
