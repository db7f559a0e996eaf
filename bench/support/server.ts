import { join } from 'node:path';
import { ServerProcess } from '../../test/support/processes/server-process';

export interface BenchServerOptions {
  /** The folder dist/ of another build. */
  readonly dist?: string;
  /** Added to the configuration. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts the server with the bench service. */
export function startBenchServer(
  redisUrl: string,
  { dist, env }: BenchServerOptions = {},
): Promise<ServerProcess> {
  return ServerProcess.start({
    redisUrl,
    nodeArguments: ['--expose-gc'],
    program: join(dist ? join(dist, 'bench', 'support') : __dirname, 'server-main.js'),
    env: { HOLDFAST_LOG_LEVEL: 'warn', ...env },
    onLine: (line) => {
      if (!line.includes('"msg":"listening"')) console.error(`server: ${line}`);
    },
  });
}
