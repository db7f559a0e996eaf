import { setTimeout as sleep } from 'node:timers/promises';
import { residentBytes } from '../../bench/support/cpu';
import { openFloods } from '../support/attacks/attacks';
import { AttackProcess, Guard } from '../support/attacks/attack-process';
import { Bystanders } from '../support/attacks/bystanders';
import { closeAll } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { freePort } from '../support/processes/child-program';
import { ServerProcess } from '../support/processes/server-process';
import { scratchFolder } from '../support/scratch-folder';

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
/** Resident memory may rise by 60 % over the calm server. */
const MOST_GROWTH = 1.6;

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
        expect(peak).toBeLessThan(calm * MOST_GROWTH);
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
