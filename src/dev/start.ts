import { join } from 'node:path';
import { exitCodeOfStart, run } from '../main';
import { banner, type StoreInfo } from './banner';
import { EmbeddedRedis } from './embedded-redis';

const POLL_MS = 500;
/** The month of the last fixes, security included, of each release of Node (github.com/nodejs/Release). */
const LAST_FIXES: Readonly<Record<number, string>> = {
  20: '2026-04',
  21: '2024-06',
  22: '2027-04',
  23: '2025-06',
  24: '2028-04',
  25: '2026-06',
  26: '2029-04',
};

/** The month of the last fixes of a release that gets no more. Undefined: the release gets fixes, or is not in the list. */
export function endOfLife(version: string, now: Date): string | undefined {
  const month = LAST_FIXES[Number.parseInt(version, 10)];
  return month !== undefined && month < now.toISOString().slice(0, 7) ? month : undefined;
}

function isUnderNpm(env: NodeJS.ProcessEnv): boolean {
  return env['npm_lifecycle_event'] !== undefined;
}

/**
 * Sends SIGTERM to this process when its parent npm has been killed. A killed npm passes no signal on, so this process
 * would keep its port and its Redis. Without npm nothing is sent, because a parent such as `nohup` may end early.
 */
function endWithNpm(env: NodeJS.ProcessEnv): void {
  if (!isUnderNpm(env)) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, POLL_MS);
  timer.unref();
}

/**
 * The program of `npm start` and `holdfast dev`. Runs the server of `npm run serve`. Starts a private Redis if
 * HOLDFAST_REDIS_URL is not set.
 */

function note(text: string): void {
  console.error(`[start] ${text}`);
}

async function startWithPrivateRedis(env: NodeJS.ProcessEnv): Promise<void> {
  const redis = await EmbeddedRedis.start({ folder: join(process.cwd(), '.holdfast'), env, note });
  const { product, version } = redis.program;
  const store: StoreInfo = {
    description: `${product} ${version}, private, at ${redis.socket}`,
    dataFolder: redis.dataFolder,
  };
  try {
    await run({
      env: {
        ...env,
        HOLDFAST_REDIS_URL: redis.url,
        HOLDFAST_DEVELOPMENT: '1',
        ...(redis.isNew && { HOLDFAST_STORE_IS_NEW: '1' }),
      },
      banner: (server) => banner(server, store, isUnderNpm(env)),
      // Redis stops after the drain, because the drain renews every lease once more.
      onClosed: () => redis.stop(),
    });
  } catch (error) {
    await redis.stop();
    throw error;
  }
}

async function startWithConfiguredRedis(env: NodeJS.ProcessEnv): Promise<void> {
  await run({
    env: { ...env, HOLDFAST_DEVELOPMENT: '1' },
    banner: (server) => banner(server, { description: server.redis, dataFolder: undefined }, isUnderNpm(env)),
  });
}

/** Names of the errors with a message for the operator. Any other error is a defect and is printed with its stack. */
const EXPECTED = ['Error', 'ConfigError', 'StartError'];

/** Resolves when the server listens, or when the reason of a failed start is printed and the exit code is set. */
export async function startDevelopment(env: NodeJS.ProcessEnv): Promise<void> {
  endWithNpm(env);
  const { node } = process.versions;
  const month = endOfLife(node, new Date());
  if (month)
    note(
      `Node ${node} works, but its release has had no fixes, not even of security, since ${month}: use Node 24`,
    );
  try {
    if (env['HOLDFAST_REDIS_URL']) await startWithConfiguredRedis(env);
    else await startWithPrivateRedis(env);
  } catch (error) {
    const expected = error instanceof Error && EXPECTED.includes(error.name);
    console.error(expected ? `[start] ${error.message}` : error);
    process.exitCode = exitCodeOfStart(error);
  }
}
