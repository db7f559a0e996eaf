const POLL_MS = 500;

export function isUnderNpm(env: NodeJS.ProcessEnv): boolean {
  return env['npm_lifecycle_event'] !== undefined;
}

/**
 * Sends SIGTERM to this process when its parent npm has been killed. A killed npm passes no signal on, so this process
 * would keep its port and its Redis. Without npm nothing is sent, because a parent such as `nohup` may end early.
 */
export function endWithNpm(env: NodeJS.ProcessEnv): void {
  if (!isUnderNpm(env)) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, POLL_MS);
  timer.unref();
}
