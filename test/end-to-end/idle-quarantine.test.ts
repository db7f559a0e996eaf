import { runProgram } from '../support/cli/run-program';
import { closeAll, eventuallyPasses } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { InProcessServer } from './in-process-server';

/** Servers without calls, over a Redis that is emptied. */

let redis: RedisProcess;
const servers: InProcessServer[] = [];

beforeAll(async () => {
  redis = await RedisProcess.start({ inMemory: true });
  for (let count = 0; count < 2; count += 1) {
    servers.push(await InProcessServer.start(redis.url, { HOLDFAST_ADMIN_LISTEN: '127.0.0.1:0' }));
  }
});
afterAll(() =>
  closeAll(...servers.map((server) => () => server.closeDespiteWarnings()), () => redis.close()),
);

const page = async (server: InProcessServer, path: string): Promise<string> =>
  (await fetch(`http://${server.adminAddress}${path}`)).text();

const remaining = async (server: InProcessServer): Promise<number> =>
  Number(/^holdfast_quarantine_remaining_seconds (\S+)$/m.exec(await page(server, '/metrics'))?.[1]);

test('the metric, the log, health, readyz and `holdfast status` show the quarantine after FLUSHALL', async () => {
  expect(await Promise.all(servers.map(remaining))).toEqual([0, 0]);
  await redis.command('FLUSHALL');
  for (const server of servers) {
    // A scrape is no call: only the server itself can find out.
    await eventuallyPasses('the metric', async () => expect(await remaining(server)).toBeGreaterThan(0));
    expect(server.warnings.map(({ msg }) => msg)).toContain('the store is in quarantine: nothing is granted');
    const run = (command: string) => runProgram([...command.split(' '), '-a', server.address]);
    expect((await run('health --service holdfast.grants')).out).toBe('NOT_SERVING\n');
    const { out } = await run('status');
    expect(out).toMatch(/^store +quarantined$/m);
    expect(out).toMatch(/^grants +paused until .*, because the store was emptied or is new;/m);
    expect(await page(server, '/readyz')).toContain('quarantine');
  }
});
