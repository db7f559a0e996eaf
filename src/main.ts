import type { Logger } from 'pino';
import { type Config, ConfigError, credentialsOf, readConfig } from './server/config/config';
import { readOpenTelemetry } from './server/config/variables';
import { createLog } from './server/startup';
import { createServer, StartError, type HoldfastServer } from './server/server';
import { startTracing } from './server/tracing';

/** The exit codes. After a second signal the exit code is 128 + the number of the signal, as is usual in shells. */
const EXIT = {
  drained: 0,
  notStarted: 1,
  /** As of the program `holdfast` for wrong settings: a process manager should not start the server again. */
  misconfigured: 64,
  /** An uncaught error, which the log reports. */
  defect: 70,
  /** The drain did not finish within HOLDFAST_DRAIN_TIMEOUT + CLOSING_GRACE_MS. */
  overdue: 124,
} as const;

const SIGNAL_NUMBERS = { SIGINT: 2, SIGTERM: 15 } as const;
type Signal = keyof typeof SIGNAL_NUMBERS;

/** The time after the drain timeout in which the store closes and `onClosed` runs. */
const CLOSING_GRACE_MS = 5000;
/** How long the last lines of the log may take if their reader is slow (ms). */
const LAST_LINES_MS = 1000;
/** A second SIGINT within this time belongs to the same Ctrl-C: under npm, the terminal and npm each send a SIGINT. */
const SAME_CTRL_C_MS = 300;

export interface RunOptions {
  readonly env: NodeJS.ProcessEnv;
  /** Makes the text that is printed when the server listens. */
  readonly banner?: (info: {
    listen: string;
    redis: string;
    version: string;
    /** The path of the certificate chain. Undefined: no TLS. */
    tlsCert: string | undefined;
    credentials: { token: boolean; certificate: boolean };
  }) => string;
  /** Runs after the drain, when the store is closed. */
  readonly onClosed?: () => Promise<void>;
}

/**
 * Runs the server until a signal ends the process. Resolves when the server listens. Rejects with a message for the
 * operator when the server cannot start.
 */
export async function run(options: RunOptions): Promise<void> {
  const config = readConfig(options.env);
  const log = createLog(config.logLevel);
  exitOnDefect(log);
  const wantedTracing = readOpenTelemetry(options.env);
  const tracing = wantedTracing && (await startTracing(wantedTracing, log));
  const server = createServer(config, { log, spans: tracing?.spans });
  exitOnSignal(server, config, log, async () => {
    await tracing?.close();
    await options.onClosed?.();
  });
  const listen = await server.listen().catch(async (error: unknown) => {
    await server.drain();
    throw error;
  });
  const redis = config.redis.shown;
  const { adminAddress: admin, version } = server;
  const development = config.development ? true : undefined;
  log.info({ listen, admin, redis, version, development }, 'listening');
  if (options.banner === undefined) return;
  const { tlsCert } = config;
  console.log(options.banner({ listen, redis, version, tlsCert, credentials: credentialsOf(config) }));
}

/** Ends the process after an uncaught error, because the state of the process is then unknown. */
function exitOnDefect(log: Logger): void {
  const exit = (kind: string) => (err: unknown) => {
    log.fatal({ err }, kind);
    process.exit(EXIT.defect);
  };
  process.on('uncaughtException', exit('uncaught exception'));
  process.on('unhandledRejection', exit('unhandled rejection'));
}

/** The first signal starts the drain. A second signal, or a drain that takes too long, ends the process immediately. */
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
      log.warn({ signal }, 'second signal: stopping without waiting for the drain');
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
      exitAfterLines(log, EXIT.drained);
    },
    (err: unknown) => {
      log.fatal({ err }, 'the drain failed');
      process.exit(EXIT.defect);
    },
  );
}

/** Waits until the lines of the log are written, because an exit would write the last lines before a line on its way. */
function exitAfterLines(log: Logger, code: number): void {
  const exit = (): void => process.exit(code);
  setTimeout(exit, LAST_LINES_MS);
  log.flush(exit);
}

/** The program of `npm run serve` and `holdfast serve`. If the server cannot start, prints the reason and ends. */
export async function serve(env: NodeJS.ProcessEnv): Promise<void> {
  try {
    await run({ env });
  } catch (error) {
    console.error(isExpectedAtStart(error) ? `holdfast: ${error.message}` : error);
    process.exit(exitCodeOfStart(error));
  }
}

/** Whether the message of an error at the start says to the operator what to do. */
export function isExpectedAtStart(error: unknown): error is ConfigError | StartError {
  return error instanceof ConfigError || error instanceof StartError;
}

/** The exit code after a failed start. */
export function exitCodeOfStart(error: unknown): number {
  return error instanceof ConfigError ? EXIT.misconfigured : EXIT.notStarted;
}

if (require.main === module) void serve(process.env);
