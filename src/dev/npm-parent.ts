const POLL_MS = 500;

/**
 * Ends this process as SIGTERM does when the npm that started it has been killed. A killed npm passes no signal
 * on, and this process would keep its port and its Redis. The parent is watched only under npm: a parent such as
 * `nohup` ends without a meaning for this process.
 */
export function endWithNpm(env: NodeJS.ProcessEnv): void {
  if (env['npm_lifecycle_event'] === undefined) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, POLL_MS);
  timer.unref();
}
