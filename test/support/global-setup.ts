import { rmSync } from 'node:fs';
import { findRedisServer } from '../../src/dev/find-redis';
import { announceGuard, startGuard } from './processes/run-guard';
import { makeScratchFolder, RUN_FOLDER } from './scratch-folder';

/** Runs once per test run, before all tests. Jest requires a default export. */
export default async function setUp(): Promise<void> {
  // Fetches redis-server once, so that no test file waits for it. Without redis-server, test files start containers.
  await findRedisServer({ env: process.env, note: (text) => console.error(text) }).catch(() => undefined);

  announceGuard(await startGuard());

  const folder = makeScratchFolder('run');
  process.env[RUN_FOLDER] = folder;
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
}
