import { join } from 'node:path';
import { ServerProcess } from '../../test/support/processes/server-process';

/** Starts the server with the bench service, from this build or from the dist/ of another build. */
export function startBenchServer(redisUrl: string, dist?: string): Promise<ServerProcess> {
  return ServerProcess.start({
    redisUrl,
    nodeArguments: ['--expose-gc'],
    program: join(dist ? join(dist, 'bench', 'support') : __dirname, 'server-main.js'),
    env: { HOLDFAST_LOG_LEVEL: 'warn' },
    onLine: (line) => {
      if (!line.includes('"msg":"listening"')) console.error(`server: ${line}`);
    },
  });
}
