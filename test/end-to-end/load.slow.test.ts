import { setTimeout as sleep } from 'node:timers/promises';
import { residentBytes } from '../../bench/support/cpu';
import type { Attack, AttackReport } from '../support/attacks/attack';
import { AttackProcess, Guard } from '../support/attacks/attack-process';
import { attacks, openFloods } from '../support/attacks/attacks';
import { Bystanders, InnocentClient } from '../support/attacks/bystanders';
import type { Outcome } from '../support/attacks/frame-connection';
import { bearer } from '../support/clients/calls';
import { LockClient } from '../support/clients/lease-client';
import { closeAll, eventuallyPasses } from '../support/eventually';
import { freePort } from '../support/processes/child-program';
import { RedisProcess } from '../support/processes/redis-process';
import { ServerProcess } from '../support/processes/server-process';
import { RecordedCommands } from '../support/redis-commands';
import { scratchFolder } from '../support/scratch-folder';
import { InProcessServer } from './in-process-server';

describe('floods', () => {
  /**
   * Floods of calls from callers that may do nothing, against a server with a heap of 256 MiB. FLOOD_SECONDS sets the time
   * of each flood, and the table of the results is printed at the end: `FLOOD_SECONDS=60 npm run test:slow -- floods`.
   */

  const FLOOD_MS = Number(process.env['FLOOD_SECONDS'] ?? 4) * 1000;
  const CONNECTIONS = [1, 3, 12, 30];
  const MOST_CONNECTIONS = 30;
  const STREAMS = 50;
  const TTL_MS = 10_000;
  const PROBE_TIMEOUT_MS = 20_000;
  /** Resident memory may rise by this over the calm server. */
  const MOST_GROWTH_MIB = 100;

  const table: string[] = [];

  let redis: RedisProcess;
  beforeAll(async () => {
    redis = await RedisProcess.start({ inMemory: true });
  });
  afterAll(async () => {
    await redis?.close();
    console.log(
      ['flood         connections  calm MiB  peak MiB  /livez ms  answers  cut', ...table].join('\n'),
    );
  });

  async function livenessMs(admin: string): Promise<number> {
    const startedAt = performance.now();
    const answer = await fetch(`http://${admin}/livez`, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
    expect(answer.status).toBe(200);
    await answer.text();
    return performance.now() - startedAt;
  }

  async function cutCount(admin: string): Promise<number> {
    const page = await (await fetch(`http://${admin}/metrics`)).text();
    const counts = [...page.matchAll(/^holdfast_connections_cut_total\{.*\} (\d+)$/gm)];
    return counts.reduce((sum, [, count]) => sum + Number(count), 0);
  }

  test.each(openFloods.map(({ name }) => name))(
    '%s: the server stays alive with little memory, answers its probes, and no other client loses a lease',
    async (name) => {
      const guard = await Guard.open(scratchFolder());
      const admin = `127.0.0.1:${await freePort()}`;
      const server = await ServerProcess.start({
        redisUrl: redis.url,
        nodeArguments: ['--max-old-space-size=256'],
        env: { ...guard.env, HOLDFAST_ADMIN_LISTEN: admin },
      });
      const open: { close(): unknown }[] = [];
      try {
        const bystanders = await Bystanders.open({
          address: server.listen,
          label: `${name}-bystander`,
          token: guard.token,
          streams: STREAMS,
          connections: 10,
          ttlMs: TTL_MS,
        });
        open.push(bystanders);
        await sleep(1000);
        const residentMiB = (): number => residentBytes(server.pid) / 2 ** 20;
        const calm = residentMiB();
        for (const connections of CONNECTIONS) {
          const attack = await AttackProcess.start(name, {
            address: server.listen,
            label: `${name}-attack`,
            forMs: FLOOD_MS,
            scale: connections / MOST_CONNECTIONS,
          });
          open.push(attack);
          let over = false;
          const reported = attack.report().finally(() => (over = true));
          let [peak, slowest] = [0, 0];
          for (; !over; await sleep(200)) {
            slowest = Math.max(slowest, await livenessMs(admin));
            peak = Math.max(peak, residentMiB());
          }
          const { outcomes } = await reported;
          const answers = Object.values(outcomes).reduce((sum, count) => sum + count, 0);
          const figures = [calm, peak, slowest, answers, await cutCount(admin)].map((one) => Math.round(one));
          table.push([name.padEnd(16), String(connections).padStart(8), ...figures].join('  '));
          expect(server.exit).toBeUndefined();
          expect(peak).toBeLessThan(calm + MOST_GROWTH_MIB);
        }
        const { lost, ended } = bystanders.counts;
        expect({ lost, ended }).toEqual({ lost: {}, ended: {} });
      } finally {
        await closeAll(
          ...open.map((one) => () => one.close()),
          () => server.close(),
          () => guard.close(),
        );
      }
    },
    120_000 + 8 * FLOOD_MS,
  );
});

describe('overload', () => {
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
    'unproven-calls': 0.2,
    'forged-tokens': 0.2,
    'forbidden-calls': 0.2,
    'open-streams': 0.2,
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
    readonly observer: LockClient;
    /** The start of the server. */
    readonly startedAt: number;
    /** Undefined: the server asks for no credentials. */
    readonly guard: Guard | undefined;
    /** The name that an attack on one name uses. */
    readonly attackedName: string;
    attack(): Promise<AttackReport>;
  }

  /** The begin of the warning about requests that have not arrived completely. The server ends those of an attacker. */
  const UNFINISHED = 'ended calls because their requests did not arrive';

  /** Starts a server with its other clients. At the end the server must have no open operation and no other warning. */
  async function withServer({ name, refusal }: Attack, work: (scene: Scene) => Promise<void>): Promise<void> {
    const guard = refusal === undefined ? undefined : await Guard.open(scratchFolder());
    const startedAt = performance.now();
    const server = await InProcessServer.start(redis.url, guard?.env);
    const { address } = server;
    const token = guard?.token;
    const attackedName = `${name}-attack`;
    const open: { close(): unknown }[] = [];
    const attack = async (): Promise<AttackReport> => {
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
        label: `${name}-bystander`,
        token,
        streams: STREAMS,
        connections: 10,
        ttlMs: STREAM_TTL_MS,
      });
      open.push(bystanders);
      const innocent = new InnocentClient({
        address,
        label: `${name}-innocent`,
        token,
        perSecond: PER_SECOND,
      });
      open.push(innocent);
      const observer = new LockClient(address, { channel: bearer(token) });
      open.push(observer);
      await work({ server, bystanders, innocent, observer, startedAt, guard, attackedName, attack });
    } finally {
      const others = server.warnings.filter(({ msg }) => !String(msg).startsWith(UNFINISHED));
      server.warnings.splice(0, Infinity, ...others);
      await closeAll(
        ...open.map((one) => () => one.close()),
        () => server.close(),
        () => guard?.close(),
      );
    }
  }

  /** Waits until the work of the attack is done, and no lease can be lost any more that was not renewed during the attack. */
  async function afterwards({ server, innocent, observer, attackedName }: Scene): Promise<void> {
    await eventuallyPasses('no wait, no give-back, and only the streams of the bystanders', () => {
      const [waitingCount, waitedNameCount, givingBackCount] = [0, 0, 0];
      const heldCount = STREAMS;
      expect(server.stats).toMatchObject({ waitingCount, waitedNameCount, givingBackCount, heldCount });
    });
    await eventuallyPasses('an empty queue', async () => {
      expect(await observer.get(attackedName)).toMatchObject({ waiterCount: 0 });
    });
    await sleep(STREAM_TTL_MS);
    await innocent.stop();
  }

  /** No lease of the bystanders was lost, and the calls of the innocent client had answers. */
  function expectUndisturbed({ bystanders, innocent }: Scene): void {
    const { lost, ended } = bystanders.counts;
    expect({ lost, ended }).toEqual({ lost: {}, ended: {} });
    const calls = innocent.between(0, performance.now());
    const of = (call: 'acquire' | 'release') =>
      new Set(calls.filter((one) => one.call === call).map(({ outcome }) => outcome ?? 'no answer'));
    // A server that is too busy for any acquire may refuse every acquire, but no release.
    expect([...of('acquire')].filter((outcome) => !['OK', 'OVERLOADED'].includes(outcome))).toEqual([]);
    expect([...of('release')].filter((outcome) => outcome !== 'OK')).toEqual([]);
  }

  test.each(attacks.filter(({ refusal }) => refusal === undefined))(
    'the attack $name takes no lease of another client, and leaves no work behind',
    (one) =>
      withServer(one, async (scene) => {
        const { outcomes } = await scene.attack();
        await afterwards(scene);
        expectUndisturbed(scene);
        const unexpected = Object.entries(outcomes).filter(([outcome]) => !EXPECTED.includes(outcome));
        expect(unexpected).toEqual([]);
      }),
  );

  const refusedAttacks = attacks.flatMap((one) =>
    one.refusal === undefined ? [] : [{ ...one, refusal: one.refusal }],
  );

  test.each(refusedAttacks)(
    'the attack $name ends with $refusal, takes no lease of another client, and costs no command of Redis',
    (one) =>
      withServer(one, async (scene) => {
        const commands = await RecordedCommands.start(redis);
        const { outcomes } = await scene.attack();
        expect(await commands.countWith(scene.attackedName)).toBe(0);
        await commands.stop();
        await afterwards(scene);
        expectUndisturbed(scene);
        const { [one.refusal]: refusedCount = 0, ...others } = outcomes;
        expect(refusedCount).toBeGreaterThan(0);
        // The end of the attack cuts calls off, and a busy server refuses calls before it asks for a credential.
        const expected: readonly Outcome[] = ['no answer', 'connection ended', 'OVERLOADED'];
        expect(Object.keys(others).filter((outcome) => !expected.includes(outcome))).toEqual([]);
        // The keys are requested at the start, and for unknown keys at most every 10 s.
        const elapsedMs = performance.now() - scene.startedAt;
        expect(scene.guard?.keyRequests).toBeLessThanOrEqual(2 + elapsedMs / 10_000);
      }),
  );
});
