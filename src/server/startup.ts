import { readFileSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { format } from 'node:util';
import { setLogger } from '@grpc/grpc-js';
import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';
import type { LoadedDictionaries } from '../autocomplete/loaded/loaded-dictionaries';
import type { Quotas } from '../base/accounts';
import type { Clock } from '../base/clock';
import { HoldfastError } from '../base/errors';
import type { StoreHealth } from '../base/store-state';
import { pause } from '../flow/waiting';
import { defaultLimits, type Limits } from '../leases/lease';
import { type Config, settingsWarnings } from './config/config';

interface NamedFile {
  readonly setting: string;
  readonly path: string;
}

/** The settings that say who may call the server, with the names of the settings for messages. */
export function accessSettings(config: Config) {
  const { tlsCert, tlsKey, authJwtIssuer, authJwtAudience, authJwtJwks } = config;
  return {
    ...(tlsCert !== undefined &&
      tlsKey !== undefined && {
        tls: {
          certificate: { setting: 'HOLDFAST_TLS_CERT', path: tlsCert },
          key: { setting: 'HOLDFAST_TLS_KEY', path: tlsKey },
          clientAuthority: named('HOLDFAST_TLS_CLIENT_CA', config.tlsClientCa),
        },
      }),
    tokens: named('HOLDFAST_AUTH_TOKENS', config.authTokens),
    policy: named('HOLDFAST_POLICY', config.policy),
    quotas: quotasOf(config),
    ...(authJwtIssuer !== undefined &&
      authJwtAudience !== undefined &&
      authJwtJwks !== undefined && {
        jwt: {
          issuer: authJwtIssuer,
          audience: authJwtAudience,
          keys:
            'url' in authJwtJwks
              ? authJwtJwks
              : { setting: 'HOLDFAST_AUTH_JWT_JWKS', path: authJwtJwks.path },
          claim: config.authJwtClaim,
        },
      }),
  };
}

/** The file of the password for Redis. */
export function redisPasswordFile(config: Config): NamedFile | undefined {
  return named('HOLDFAST_REDIS_PASSWORD_FILE', config.redisPasswordFile);
}

/** Undefined: no quota is set. */
function quotasOf(config: Config): Quotas | undefined {
  const quotas: Quotas = {
    leases: config.quotaLeases,
    waiters: config.quotaWaiters,
    streams: config.quotaStreams,
    sessions: config.quotaSessions,
    commands_per_second: config.quotaCommandsPerSecond,
    entries: config.quotaEntries,
    bytes: config.quotaBytes,
  };
  return Object.values(quotas).some((quota) => quota !== undefined) ? quotas : undefined;
}

function named(setting: string, path: string | undefined): NamedFile | undefined {
  return path === undefined ? undefined : { setting, path };
}

/** Warns about what the settings leave open. */
export function logExposure(config: Config, log: Logger): void {
  for (const warning of settingsWarnings(config)) log.warn({}, warning);
}

/** The settings that limit the requests of callers. */
export function limitsOf(config: Config): Limits {
  const { minTtlMs, maxTtlMs, defaultTtlMs, maxStreamAgeMs, maxWaitersPerName, maxStreams } = config;
  return {
    ...defaultLimits,
    minTtlMs,
    maxTtlMs,
    defaultTtlMs,
    maxStreamAgeMs,
    maxWaitersPerName,
    maxStreams,
  };
}

/** Logs each change of the store's health once: a lost or regained store, a quarantine, new warnings. */
export function logHealth(health: StoreHealth, log: Logger): void {
  let reachable = true;
  let quarantined = false;
  let warnings: readonly string[] = [];
  const logChanges = (): void => {
    if (health.reachable !== reachable) {
      reachable = health.reachable;
      if (reachable) log.info({}, 'the store answers again');
      else log.warn({}, 'the store does not answer: calls fail until the store answers');
    }
    if ((health.quarantine !== undefined) !== quarantined) {
      quarantined = health.quarantine !== undefined;
      logQuarantine(health, log);
    }
    for (const warning of health.warnings) {
      if (!warnings.includes(warning)) log.warn({}, warning);
    }
    warnings = health.warnings;
  };
  health.onChange(logChanges);
  logChanges();
}

function logQuarantine({ quarantine }: StoreHealth, log: Logger): void {
  if (quarantine === undefined) {
    log.info({}, 'the quarantine is over: leases are granted again');
    return;
  }
  const { cause, remainingMs } = quarantine;
  log.warn({ cause, remainingMs: Math.round(remainingMs) }, 'the store is in quarantine: nothing is granted');
}

/** A log with the field `audit`. Audit lines are written at every level of the log except `silent`. */
export function auditLogOf(log: Logger): Logger {
  const level = log.level === 'silent' ? 'silent' : 'info';
  return log.child({ audit: true }, { level });
}

/** Sends the messages of grpc-js to the log at level debug. By default grpc-js writes to the console. */
export function routeGrpcLog(log: Logger): void {
  const write = (...parts: unknown[]): void => log.debug({ from: 'grpc-js' }, format(...parts));
  setLogger({ error: write, info: write, debug: write });
}

/** The part of the machine that this process may use. */

/** The part of the memory that the indexes of dictionaries take by default. */
const DICTIONARY_SHARE = 1 / 4;
const MOST_DEFAULT_BYTES = 2 * 2 ** 30;

/** The default of HOLDFAST_DICTIONARY_MEMORY (bytes): a quarter of the memory of the container or machine. */
export function defaultDictionaryBytes(): number {
  // 0, or more than the memory of the machine: the container has no limit.
  const limit = process.constrainedMemory() || Infinity;
  return Math.min(Math.floor(Math.min(limit, totalmem()) * DICTIONARY_SHARE), MOST_DEFAULT_BYTES);
}

/** The number of cores that this process may use. A container may have less than one. */
export function coreCount(): number {
  return Math.min(availableParallelism(), coresOfQuota(readQuota()));
}

/** `cpuMax`: the file cpu.max of the container: the microseconds of a period that may be used, and the period. */
export function coresOfQuota(cpuMax: string): number {
  const [, used, period] = /^(\d+) (\d+)/.exec(cpuMax) ?? [];
  return used === undefined ? Infinity : Number(used) / Number(period);
}

function readQuota(): string {
  try {
    return readFileSync('/sys/fs/cgroup/cpu.max', 'utf8');
  } catch {
    return ''; // No container, or no Linux.
  }
}

/** How long one dictionary may take, and how long all together wait for a store that does not answer (ms). */
const PATIENCE_MS = 120_000;
/** The pause before the next try while the store does not answer (ms). */
const PAUSE_MS = 1000;

/** A load at the start of the server. */
export interface PreloadProgress {
  /** Called before each dictionary, and at the end with 0: the dictionaries that are left. */
  readonly onProgress: (leftCount: number) => void;
  /** Ends the wait, and begins no further load. */
  readonly stopped: AbortSignal;
}

export interface PreloadOptions extends PreloadProgress {
  /** The dictionaries of HOLDFAST_PRELOAD. */
  readonly names: readonly string[];
  readonly indexes: Pick<LoadedDictionaries, 'load'>;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'info' | 'warn'>;
}

/**
 * Loads dictionaries, one after another, while the server already serves. A dictionary that cannot be loaded does not
 * keep the server from being ready.
 */
export async function preload(options: PreloadOptions): Promise<void> {
  const { names, clock, log, onProgress, stopped } = options;
  const waitsUntil = clock.now() + PATIENCE_MS;
  const stop = new Promise<void>((resolve) => stopped.addEventListener('abort', () => resolve()));
  for (const [at, name] of names.entries()) {
    onProgress(names.length - at);
    await Promise.race([load(name, waitsUntil, options), stop]);
    if (stopped.aborted) return;
  }
  onProgress(0);
  if (names.length > 0) log.info({}, 'the preload of dictionaries has ended');
}

/** Tries again while the store does not answer: at the start, the Redis of the dictionaries may answer later. */
async function load(dictionary: string, waitsUntil: number, options: PreloadOptions): Promise<void> {
  const { indexes, clock, log, stopped } = options;
  while (!stopped.aborted) {
    try {
      return await indexes.load(dictionary, PATIENCE_MS);
    } catch (error) {
      if (stopped.aborted) return;
      const mayAnswer = error instanceof HoldfastError && error.reason === 'STORE_UNAVAILABLE';
      if (!mayAnswer || clock.now() + PAUSE_MS >= waitsUntil) {
        log.warn({ err: error, dictionary }, 'the dictionary was not preloaded');
        return;
      }
    }
    await pause(clock, PAUSE_MS);
  }
}

/** The server cannot start. The message is for the operator and says which setting to change. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/**
 * Fields that may hold a password, a lease id, or another value that gives control of a lease or the store. The
 * server does not log these fields, but the error object of a library may contain them.
 */
const SECRETS = ['password', 'url', 'leaseId', 'lease_id', 'secret', 'requestId', 'request_id', 'command'];

/** The bytes of lines that wait for a slow reader. Further lines are dropped, so that a log never fills the memory. */
const MAX_WAITING_BYTES = 16 * 2 ** 20;

/** A reader that stands still never blocks the server. With `minLength`, `flush` waits for the lines before. */
function standardOutput(): DestinationStream {
  return pino.destination({ dest: 1, sync: false, minLength: 1, maxLength: MAX_WAITING_BYTES });
}

/** Logs one JSON object per line to standard output. The lines before an exit are written at the exit. */
export function createLog(level: Config['logLevel'], destination = standardOutput()): Logger {
  const settings = {
    level,
    base: { pid: process.pid },
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: SECRETS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]), censor: '[secret]' },
  };
  return pino(settings, destination);
}
