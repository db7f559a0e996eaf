import { join } from 'node:path';
import { exitCodeOfStart, run } from '../main';
import { banner, type StoreInfo } from './banner';
import { EmbeddedRedis } from './embedded-redis';

const POLL_MS = 500;

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
  try {
    if (env['HOLDFAST_REDIS_URL']) await startWithConfiguredRedis(env);
    else await startWithPrivateRedis(env);
  } catch (error) {
    const expected = error instanceof Error && EXPECTED.includes(error.name);
    console.error(expected ? `[start] ${error.message}` : error);
    process.exitCode = exitCodeOfStart(error);
  }
}
