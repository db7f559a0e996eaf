const POLL_MS = 200;

/**
 * Kills this process if its parent npm is killed. A user who sends `kill -9` to npm wants to kill the worker, so the
 * worker ends in the same way, without a release. Your own program does not need this function.
 */
export function dieWithNpm(): void {
  if (process.env['npm_lifecycle_event'] !== 'worker') return;
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL');
  }, POLL_MS).unref();
}
