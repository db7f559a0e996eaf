import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { unpackedPackages } from '../../bench/words/debian-packages';
import { InProcessServer } from '../end-to-end/in-process-server';
import { RedisProcess } from '../support/processes/redis-process';

/** The judgement of Prometheus's own tool, from the package of this machine's Debian release. */

let promtool: string;
beforeAll(async () => {
  const found = await unpackedPackages('prometheus', ['prometheus']);
  if ('missing' in found) throw new Error(`promtool cannot be had: ${found.missing}`);
  promtool = join(found.folder, 'usr/bin/promtool');
});

test('promtool finds no mistake in the metrics of a server', async () => {
  const redis = await RedisProcess.start();
  const server = await InProcessServer.start(redis.url, { HOLDFAST_ADMIN_LISTEN: '127.0.0.1:0' });
  try {
    const answer = await fetch(`http://${server.adminAddress}/metrics`);
    const output = execFileSync(promtool, ['check', 'metrics'], {
      input: await answer.text(),
      encoding: 'utf8',
    });
    expect(output).toBe('');
  } finally {
    await server.close();
    await redis.close();
  }
});
