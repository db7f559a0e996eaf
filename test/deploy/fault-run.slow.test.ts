import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LockClient } from '../support/clients/lock-client';
import { eventuallyPasses } from '../support/eventually';
import { freePort } from '../support/processes/free-port';
import { prometheusProgram } from '../support/processes/prometheus';
import { RedisProcess } from '../support/processes/redis-process';
import { ServerProcess } from '../support/processes/server-process';
import { ROOT } from '../support/root';
import { scratchFolder } from '../support/scratch-folder';

/**
 * The alerts in a Prometheus that reads a real server: silent while all is well, and firing in faults. The rules have
 * shorter times than in deploy/, so that the test takes minutes instead of hours.
 */

const LEASE_TTL_MS = 10_000;
const CALM_MS = 15_000;
const PATIENCE = { timeoutMs: 90_000 };

let redis: RedisProcess;
let server: ServerProcess;
let client: LockClient;
let prometheus: ChildProcess;
let prometheusUrl: string;

/** The rules with windows of seconds in place of minutes. */
function shortRules(): string {
  const rules = readFileSync(join(ROOT, 'deploy/prometheus/alerts.yaml'), 'utf8');
  return rules.replaceAll(/\[\d+m\]/g, '[10s]').replaceAll(/for: \d+m/g, 'for: 2s');
}

async function startPrometheus(target: string): Promise<void> {
  const folder = scratchFolder();
  const port = await freePort();
  writeFileSync(join(folder, 'rules.yaml'), shortRules());
  writeFileSync(
    join(folder, 'prometheus.yaml'),
    JSON.stringify({
      global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
      rule_files: ['rules.yaml'],
      scrape_configs: [{ job_name: 'holdfast', static_configs: [{ targets: [target] }] }],
    }),
  );
  prometheusUrl = `http://127.0.0.1:${port}`;
  prometheus = spawn(
    await prometheusProgram('prometheus'),
    [
      `--config.file=${join(folder, 'prometheus.yaml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: 'ignore' },
  );
}

/** The names of the alerts that fire now. */
async function firing(): Promise<string[]> {
  const answer = await fetch(`${prometheusUrl}/api/v1/alerts`);
  const { data } = (await answer.json()) as {
    data: { alerts: { state: string; labels: { alertname: string } }[] };
  };
  return data.alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname);
}

const fires = (...names: string[]): Promise<void> =>
  eventuallyPasses(
    `the alerts ${names.join(', ')}`,
    async () => {
      expect(await firing()).toEqual(expect.arrayContaining(names));
    },
    PATIENCE,
  );

async function hold(name: string): Promise<void> {
  const stream = client.hold({ name, ttlMs: LEASE_TTL_MS });
  await stream.next('granted');
}

beforeAll(async () => {
  redis = await RedisProcess.start();
  const admin = `127.0.0.1:${await freePort()}`;
  server = await ServerProcess.start({ redisUrl: redis.url, env: { HOLDFAST_ADMIN_LISTEN: admin } });
  client = new LockClient(server.listen);
  await startPrometheus(admin);
  await eventuallyPasses(
    'Prometheus reads the server',
    async () => {
      const answer = await fetch(`${prometheusUrl}/api/v1/query?query=holdfast_ready`);
      expect(await answer.text()).toContain('"holdfast_ready"');
    },
    PATIENCE,
  );
});

afterAll(async () => {
  prometheus?.kill('SIGKILL');
  client?.close();
  await server?.close();
  await redis?.cont();
  await redis?.close();
});

test('no alert fires while a server holds leases and all is well', async () => {
  for (let count = 0; count < 5; count += 1) await hold(`calm-${count}`);
  const until = performance.now() + CALM_MS;
  while (performance.now() < until) {
    expect(await firing()).toEqual([]);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
});

test('a Redis that stands still makes the alerts about Redis, renewals and lost leases fire', async () => {
  await redis.stop();
  await fires('HoldfastNotReady', 'HoldfastRenewalsFail', 'HoldfastLeasesLost');
  await redis.cont();
});

test('a Redis that was emptied makes the alert about the quarantine fire', async () => {
  expect(await firing()).not.toContain('HoldfastQuarantine');
  await redis.command('FLUSHALL');
  await fires('HoldfastQuarantine');
});

test('a server that stands still makes two alerts fire: unreachable, then late timers', async () => {
  server.stop();
  await fires('HoldfastDown');
  server.cont();
  await fires('HoldfastEventLoopSlow');
});
