import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { InProcessServer } from '../end-to-end/in-process-server';
import { prometheusProgram } from '../support/processes/prometheus-process';
import { RedisProcess } from '../support/processes/redis-process';
import { ROOT } from '../support/root';

/** The judgement of Prometheus's own tool on metrics and rules. */

const RULES = join(ROOT, 'deploy', 'prometheus');
let promtool: string;
beforeAll(async () => {
  promtool = await prometheusProgram('promtool');
});

const run = (args: readonly string[], input = ''): string =>
  execFileSync(promtool, args, { input, cwd: RULES, encoding: 'utf8' });

test('promtool finds no mistake in the metrics of a server', async () => {
  const redis = await RedisProcess.start();
  const server = await InProcessServer.start(redis.url, { HOLDFAST_ADMIN_LISTEN: '127.0.0.1:0' });
  try {
    const text = await (await fetch(`http://${server.adminAddress}/metrics`)).text();
    expect(run(['check', 'metrics'], text)).toBe('');
  } finally {
    await server.close();
    await redis.close();
  }
});

test('promtool finds no mistake in the alerts', () => {
  expect(run(['check', 'rules', 'alerts.yaml'])).toContain('SUCCESS: 15 rules found');
});

test('promtool finds no mistake in the scrape of a list of servers', () => {
  expect(run(['check', 'config', 'scrape-static.yaml'])).toContain('scrape-static.yaml is valid');
});

test('each alert fires and is silent in its cases', () => {
  expect(run(['test', 'rules', 'alerts.test.yaml'])).toContain('SUCCESS');
});
