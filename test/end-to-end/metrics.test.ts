import { metricsOf } from '../../src/server/metrics/prometheus';
import { products } from '../../src/server/products';
import { eventuallyPasses } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { InProcessServer } from './in-process-server';

/** The metrics of the whole server, with a real Redis. */

let redis: RedisProcess;
let server: InProcessServer;
beforeAll(async () => {
  redis = await RedisProcess.start();
  server = await InProcessServer.start(redis.url, { HOLDFAST_ADMIN_LISTEN: '127.0.0.1:0' });
});
afterAll(async () => {
  await server.close();
  await redis.close();
});

async function scrape(): Promise<string> {
  const answer = await fetch(`http://${server.adminAddress}/metrics`);
  expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  return answer.text();
}

/** The value of a sample. Undefined: there is no such sample. */
function valueOf(text: string, sample: string): number | undefined {
  const line = text.split('\n').find((one) => one.startsWith(`${sample} `));
  return line === undefined ? undefined : Number(line.slice(sample.length + 1));
}

test('shows every metric of the list, with its type and help', async () => {
  const text = await scrape();
  for (const { name, type, help } of metricsOf(products)) {
    expect(text).toContain(`# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`);
  }
});

test('counts a held lease, its wait, its hand-over and its release, and shows no names', async () => {
  const client = server.client();
  const name = 'metrics/secret-name';
  const first = client.hold({ name, holderId: 'secret-holder' });
  const { lease } = await first.next('granted');
  const second = client.hold({ name, holderId: 'secret-holder', waitMs: 60_000 });
  await second.next('queued');
  const waiting = await scrape();
  expect(valueOf(waiting, 'holdfast_leases_held{service="lock"}')).toBe(1);
  expect(valueOf(waiting, 'holdfast_waiters{service="lock"}')).toBe(1);
  await client.release(lease!.leaseId);
  const granted = await second.next('granted');
  await client.release(granted.lease!.leaseId);
  await eventuallyPasses('the metrics after the releases', async () => {
    const text = await scrape();
    expect(valueOf(text, 'holdfast_leases_held{service="lock"}')).toBe(0);
    expect(valueOf(text, 'holdfast_hand_overs_total{service="lock"}')).toBe(1);
    expect(valueOf(text, 'holdfast_grant_seconds_count{service="lock"}')).toBe(2);
    expect(valueOf(text, 'holdfast_hold_seconds_count{service="lock"}')).toBe(2);
    expect(text).not.toContain('secret');
  });
});

test('counts the commands that cannot be sent to a disconnected Redis, in a series that existed before', async () => {
  const client = server.client();
  const sample = `holdfast_redis_command_failures_total{node="127.0.0.1:${redis.port}",failure="not-written"}`;
  const before = valueOf(await scrape(), sample);
  expect(before).toBeGreaterThanOrEqual(0);
  await redis.kill();
  try {
    await eventuallyPasses('the count of failures', async () => {
      await expect(client.get('metrics/unreachable')).rejects.toThrow('UNAVAILABLE');
      expect(valueOf(await scrape(), sample)).toBeGreaterThan(before!);
    });
  } finally {
    await redis.restart();
    // The server has logged that the store did not answer.
    server.warnings.splice(0);
  }
});
