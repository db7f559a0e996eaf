const POLL_MS = 500;

/**
 * npm passes SIGINT and SIGTERM on to what it runs, but a killed npm cannot: then this process would go on
 * unseen, with its port and its Redis. So when npm, our parent, is gone we end as by SIGTERM. Started in another
 * way (nohup, a service) the parent may go without that meaning anything.
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
