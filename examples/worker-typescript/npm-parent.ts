const POLL_MS = 200;

/**
 * Kills this process when the npm that started it is killed. A `kill -9` of npm is meant for the worker, so the
 * worker ends the same way, without a release. Your own program does not need this.
 */
export function dieWithNpm(): void {
  if (process.env['npm_lifecycle_event'] !== 'worker') return;
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL');
  }, POLL_MS).unref();
}
