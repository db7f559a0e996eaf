const POLL_MS = 200;

/**
 * Started by `npm run`, this process is npm's child. A `kill -9` that hits npm is meant for the worker, which would
 * otherwise work on unseen; so it ends the same way, with nothing released. A program of your own needs none of
 * this.
 */
export function dieWithNpm(): void {
  if (process.env['npm_lifecycle_event'] !== 'worker') return;
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL');
  }, POLL_MS).unref();
}
