import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type Holdfast } from '@holdfast/client';
import { drawDashboard } from '../../tools/dashboard-picture';
import { Authority } from '../support/certificates';
import { AutocompleteClient } from '../support/clients/autocomplete-client';
import { LockClient } from '../support/clients/lease-client';
import { freePort } from '../support/processes/child-program';
import { PrometheusProcess } from '../support/processes/prometheus-process';
import { RedisProcess } from '../support/processes/redis-process';
import { ServerProcess } from '../support/processes/server-process';

/**
 * Draws the dashboard from a run of two servers: a calm phase, a kill of Redis, the recovery, and load.
 *
 *     node dist/test/deploy/dashboard-run.js dashboard.svg
 */

const PHASE_MS = { calm: 30_000, killed: 15_000, recovery: 20_000, load: 30_000 };
/** Shorter than the time without Redis, so that the run has lost leases. */
const TTL_MS = 8000;
const FRUITS = [
  'apple',
  'apricot',
  'banana',
  'blackberry',
  'blueberry',
  'cherry',
  'pineapple',
  'red currant',
];

let isOver = false;
const resting = (ms: number): Promise<void> => sleep(ms);

/** Repeats work until the end of the run. Work fails while Redis is down. */
async function repeat(pauseMs: () => number, work: () => Promise<unknown>): Promise<void> {
  while (!isOver) {
    await work().catch(() => undefined);
    await resting(pauseMs());
  }
}

async function fillDictionary(autocomplete: AutocompleteClient): Promise<void> {
  const upload = autocomplete.startImport('fruits');
  await upload.send(FRUITS.map((text, index) => ({ entryId: `${index}`, text })));
  const { code } = await upload.commit();
  if (code !== 'OK') throw new Error(`the import of fruits ended with status ${code}`);
}

/** Starts work on both servers. `pauseMs` is the time between two pieces of work of a worker. */
function work(
  hf: Holdfast,
  locks: LockClient,
  autocomplete: AutocompleteClient,
  pauseMs: () => number,
): Promise<unknown> {
  const options = { limit: 2, ttl: TTL_MS };
  const critical = (ms: number) => () => resting(ms);
  return Promise.all([
    ...Array.from({ length: 4 }, () =>
      repeat(pauseMs, () => hf.withLock('busy', { ttl: TTL_MS }, critical(50))),
    ),
    ...Array.from({ length: 4 }, () => repeat(pauseMs, () => hf.withPermits('pool', options, critical(100)))),
    ...Array.from({ length: 5 }, (_, index) =>
      repeat(pauseMs, () => locks.hold({ name: `held-${index}`, ttlMs: TTL_MS }).ending),
    ),
    repeat(pauseMs, () => locks.acquire({ name: 'held-0', ttlMs: TTL_MS })),
    ...['ap', 'berr', 'cherri'].map((query) =>
      repeat(pauseMs, () => autocomplete.suggest({ dictionary: 'fruits', query })),
    ),
  ]);
}

async function main(out: string): Promise<void> {
  const redis = await RedisProcess.start();
  const admins = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
  // The first server has TLS, so that the panel of the certificates has a line.
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-dashboard-'));
  const authority = new Authority(folder);
  const { cert, key } = authority.issueForServer();
  const tls = { HOLDFAST_TLS_CERT: cert, HOLDFAST_TLS_KEY: key };
  const servers = await Promise.all(
    admins.map((admin, index) => {
      const env = { HOLDFAST_ADMIN_LISTEN: admin, ...(index === 0 && tls) };
      return ServerProcess.start({ redisUrl: redis.url, env });
    }),
  );
  const [first, second] = servers.map(({ listen }) => listen) as [string, string];
  const prometheus = await PrometheusProcess.start({ targets: admins });
  const startS = Date.now() / 1000;
  const hf = await connect(first, { tls: { ca: authority.cert } });
  const locks = new LockClient(second);
  const autocomplete = new AutocompleteClient(second);
  await fillDictionary(autocomplete);
  let pauseMs = 300;
  const worked = work(hf, locks, autocomplete, () => pauseMs);
  await resting(PHASE_MS.calm);
  await redis.kill();
  await resting(PHASE_MS.killed);
  await redis.restart();
  await resting(PHASE_MS.recovery);
  pauseMs = 5;
  await resting(PHASE_MS.load);
  const span = { prometheus: prometheus.url, job: 'holdfast', startS, endS: Date.now() / 1000 };
  writeFileSync(out, await drawDashboard(span));
  console.log(`drew ${out}`);
  isOver = true;
  locks.close();
  autocomplete.close();
  await hf.close();
  await worked;
  await prometheus.close();
  for (const server of servers) await server.close();
  await redis.close();
  rmSync(folder, { recursive: true });
}

if (require.main === module) {
  main(process.argv[2] ?? 'dashboard.svg').catch((error: unknown) => {
    console.error(error);
    // The processes of the run end with this process.
    process.exit(1);
  });
}
