import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findRedisServer } from '../../src/dev/find-redis';
import { announceLifeline } from './processes/child-program';
import { makeScratchFolder, RUN_FOLDER } from './scratch-folder';

/** Runs once per test run, before all tests. Jest requires a default export. */
export default async function setUp(): Promise<void> {
  // Fetches redis-server once, so that no test file waits for it. Without redis-server, test files start containers.
  await findRedisServer({ env: process.env, note: (text) => console.error(text) }).catch(() => undefined);

  const socket = join(tmpdir(), `holdfast-test-${process.pid}.sock`);
  rmSync(socket, { force: true });
  const server = createServer((connection) => connection.on('error', () => undefined).unref());
  server.listen(socket);
  await once(server, 'listening');
  server.unref();
  announceLifeline(socket);

  const folder = makeScratchFolder('run');
  process.env[RUN_FOLDER] = folder;
  process.once('exit', () => {
    rmSync(socket, { force: true });
    rmSync(folder, { recursive: true, force: true });
  });
}
