import { isSupportedRedis, OLDEST_REDIS } from '../base/redis-version';
import { runCommand } from './run-command';

/** A Redis server program that runs on this machine, and the environment that it needs. */
export interface RedisServerProgram {
  readonly command: string;
  readonly env: NodeJS.ProcessEnv;
  /** "Redis" or "Valkey". */
  readonly product: string;
  readonly version: string;
}

/** The reason why a program cannot be used. */
export interface Refusal {
  readonly refused: string;
}

const VERSION_TIMEOUT_MS = 10_000;

/** Parses "Redis server v=7.0.15 sha=…" or "Valkey server v=8.1.1 sha=…". */
function parseVersion(line: string): { product: string; version: string } | undefined {
  const [, product, version] = /^(\w+) server v=(\d+\.\d+\.\d+)/.exec(line) ?? [];
  return product !== undefined && version !== undefined ? { product, version } : undefined;
}

/** Runs `<command> --version`. This call fails if the program or one of its libraries is missing. */
export async function tryServer(
  command: string,
  env: NodeJS.ProcessEnv,
): Promise<RedisServerProgram | Refusal> {
  const result = await runCommand(command, ['--version'], { env, timeoutMs: VERSION_TIMEOUT_MS });
  if (result.code !== 0) return { refused: `${command} does not run: ${result.stderr.trim()}` };
  const found = parseVersion(result.stdout);
  if (!found) {
    return { refused: `${command} is not Redis: its version text is "${result.stdout.trim().slice(0, 80)}"` };
  }
  if (!isSupportedRedis(found.version)) {
    return { refused: `${command} is version ${found.version}; version ${OLDEST_REDIS} or newer is needed` };
  }
  return { command, env, ...found };
}
