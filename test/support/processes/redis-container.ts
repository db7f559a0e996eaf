import type { RedisHost } from './redis-host';

const IMAGE = 'redis:7-bookworm';
const REDIS_PORT = 6379;

/** Starts Redis in a container, for machines that have Docker but neither a redis-server nor Debian packages. */
export async function startRedisContainer(port: number, args: readonly string[]): Promise<RedisHost> {
  const { GenericContainer, getContainerRuntimeClient } = await import('testcontainers');
  const started = await new GenericContainer(IMAGE)
    .withCommand(['redis-server', '--port', String(REDIS_PORT), ...args])
    .withExposedPorts({ container: REDIS_PORT, host: port })
    .start();
  const runtime = await getContainerRuntimeClient();
  const container = runtime.container.getById(started.getId());
  let fresh = true;
  return {
    pid: undefined,
    folder: undefined,
    hasEnded: async () => !(await container.inspect()).State.Running,
    start: async () => {
      // A new container already runs. A killed container starts again with the same data and port.
      if (!fresh) await container.start();
      fresh = false;
    },
    signal: async (signal) => {
      if (signal === 'SIGSTOP') await container.pause();
      else if (signal === 'SIGCONT') await container.unpause();
      else await container.kill({ signal });
    },
    logTail: async () => (await container.logs({ stdout: true, stderr: true, tail: 40 })).toString(),
    remove: async () => void (await started.stop()),
  };
}
