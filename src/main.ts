import type { Logger } from 'pino';
import { ConfigError, readConfig, type Config } from './config/config';
import { createLog } from './log';
import { createServer, StartError, type HoldfastServer } from './server';

/** How the process ends. A second signal ends it with 128 + its number, as a shell has it. */
const EXIT = {
  drained: 0,
  notStarted: 1,
  /** An error that nobody caught: the log has it. */
  defect: 70,
  /** The drain did not come to its end. */
  overdue: 124,
} as const;

const SIGNAL_NUMBERS = { SIGINT: 2, SIGTERM: 15 } as const;
type Signal = keyof typeof SIGNAL_NUMBERS;

/** Beyond the drain's own timeout: to close the store, and what `onClosed` needs. */
const CLOSING_GRACE_MS = 5000;
/** Ctrl-C reaches a program under npm twice: from the terminal, and passed on by npm. */
const SAME_CTRL_C_MS = 300;

export interface RunOptions {
  readonly env: NodeJS.ProcessEnv;
  /** What to print once the server listens. */
  readonly banner?: (info: { listen: string; redis: string; version: string }) => string;
  /** Runs when the server has drained and let go of its store. */
  readonly onClosed?: () => Promise<void>;
}

/**
 * Runs the server until a signal ends the process. Resolves when it listens; rejects, with a message fit for an
 * operator, when it cannot start.
 */
export async function run(options: RunOptions): Promise<void> {
  const config = readConfig(options.env);
  const log = createLog(config.logLevel);
  const server = createServer(config, { log });
  exitOnDefect(log);
  exitOnSignal(server, config, log, options.onClosed);
  const listen = await server.listen().catch(async (error: unknown) => {
    await server.drain();
    throw error;
  });
  const redis = config.redis.shown;
  const { version } = server;
  log.info({ listen, redis, version, ...(config.development && { development: true }) }, 'listening');
  if (options.banner !== undefined) console.log(options.banner({ listen, redis, version }));
}

/** Whatever nobody caught leaves the process in a state that nobody knows: better none than that. */
function exitOnDefect(log: Logger): void {
  const exit = (kind: string) => (err: unknown) => {
    log.fatal({ err }, kind);
    process.exit(EXIT.defect);
  };
  process.on('uncaughtException', exit('uncaught exception'));
  process.on('unhandledRejection', exit('unhandled rejection'));
}

/** The first signal drains, the second one forces, and so does a drain that takes too long. */
function exitOnSignal(
  server: HoldfastServer,
  config: Config,
  log: Logger,
  onClosed: RunOptions['onClosed'],
): void {
  let drainingSince: number | undefined;
  const onSignal = (signal: Signal): void => {
    if (drainingSince === undefined) {
      drainingSince = performance.now();
      log.info({ signal }, 'draining');
      drainAndExit(server, config, log, onClosed);
    } else if (signal !== 'SIGINT' || performance.now() - drainingSince > SAME_CTRL_C_MS) {
      log.warn({ signal }, 'forced to stop');
      process.exit(128 + SIGNAL_NUMBERS[signal]);
    }
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
}

function drainAndExit(
  server: HoldfastServer,
  config: Config,
  log: Logger,
  onClosed: RunOptions['onClosed'],
): void {
  setTimeout(() => {
    log.error({}, 'the drain did not end in time');
    process.exit(EXIT.overdue);
  }, config.drainTimeoutMs + CLOSING_GRACE_MS);
  const close = async (): Promise<void> => {
    await server.drain();
    await onClosed?.();
  };
  close().then(
    () => {
      log.info({}, 'stopped');
      process.exit(EXIT.drained);
    },
    (err: unknown) => {
      log.fatal({ err }, 'the drain failed');
      process.exit(EXIT.defect);
    },
  );
}

if (require.main === module) {
  run({ env: process.env }).catch((error: unknown) => {
    const expected = error instanceof ConfigError || error instanceof StartError;
    console.error(expected ? `holdfast: ${error.message}` : error);
    process.exit(EXIT.notStarted);
  });
}
