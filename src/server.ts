import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { format } from 'node:util';
import { ServerCredentials, setLogger, type Server } from '@grpc/grpc-js';
import type { Logger } from 'pino';
import type { Config } from './config/config';
import { Autocomplete } from './engine/autocomplete/autocomplete';
import { systemClock } from './engine/clock';
import { systemIdentities } from './engine/identities';
import { defaultLimits, type Limits } from './engine/leases/limits';
import { Permits, type PermitsStats } from './engine/leases/permits';
import type { StoreHealth } from './engine/store-health';
import { connectStore, quarantineMs, type Security, type Store } from './redis';
import type { CallContext } from './transport/grpc/call';
import { GrpcServer } from './transport/grpc-server';
import { ListenError } from './transport/grpc/listen';
import { readVersion } from './version';

/** How long Redis may take to come up before a start is given up. */
const STORE_PATIENCE_MS = 10_000;

export interface ServerDependencies {
  readonly log: Logger;
  /** Adds services of a test or a benchmark, behind the same wrapper as the others. */
  readonly extend?: (server: Server, context: CallContext) => void;
}

export interface HoldfastServer {
  readonly version: string;
  /** Connects to the store and listens; resolves to where. Rejects with a StartError. */
  listen(): Promise<string>;
  /** Ends in order, within the drain timeout. May be called more than once, and before `listen` is through. */
  drain(): Promise<void>;
  /** What is under way; undefined until the store is connected. */
  stats(): PermitsStats | undefined;
}

/** The server cannot start, for a reason that the operator can do something about. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/** Puts the rooms together: one store, one engine over it, one gRPC server around that. */
export function createServer(config: Config, dependencies: ServerDependencies): HoldfastServer {
  return new ComposedServer(config, dependencies);
}

class ComposedServer implements HoldfastServer {
  readonly version = readVersion();
  private readonly limits: Limits;
  private store: Store | undefined;
  private permits: Permits | undefined;
  private grpc: GrpcServer | undefined;
  private listening: Promise<string> | undefined;
  private drained: Promise<void> | undefined;

  constructor(
    private readonly config: Config,
    private readonly dependencies: ServerDependencies,
  ) {
    this.limits = limitsOf(config);
  }

  listen(): Promise<string> {
    this.listening ??= this.start();
    return this.listening;
  }

  drain(): Promise<void> {
    this.drained ??= this.stop();
    return this.drained;
  }

  stats(): PermitsStats | undefined {
    return this.permits?.stats();
  }

  private async start(): Promise<string> {
    const { config, limits, version } = this;
    const { log, extend } = this.dependencies;
    const credentials = readCredentials(config);
    const serverId = randomUUID();
    routeGrpcLog(log);
    this.store = await this.connect(serverId);
    const onDefect = (error: unknown): void =>
      log.error({ err: error }, 'work that no call waits for failed');
    this.permits = new Permits({
      store: this.store.permits,
      clock: systemClock,
      identities: systemIdentities,
      limits,
      serverId,
      onDefect,
    });
    const autocomplete = new Autocomplete({
      dictionaries: this.store.dictionaries,
      recents: this.store.recents,
      clock: systemClock,
      identities: systemIdentities,
      onDefect,
    });
    this.grpc = new GrpcServer({
      engine: this.permits,
      autocomplete,
      store: this.store.node,
      limits,
      version,
      clock: systemClock,
      log,
      keepaliveTimeMs: config.keepaliveTimeMs,
      keepaliveTimeoutMs: config.keepaliveTimeoutMs,
      extend,
    });
    reportHealth(this.store.node, log);
    return this.grpc.listen(config.listen, credentials).catch((error: unknown) => {
      if (!(error instanceof ListenError)) throw error;
      throw new StartError(`${error.message} (HOLDFAST_LISTEN)`, { cause: error });
    });
  }

  private async connect(serverId: string): Promise<Store> {
    const { log } = this.dependencies;
    const { redis, redisReplica, redisPrefix, storeIsNew, maxTtlMs } = this.config;
    const { commandTimeoutMs, retentionMs, recentsRetentionMs } = this.config;
    let lastError: Error | undefined;
    const options = {
      address: redis.address,
      replica: redisReplica?.address,
      security: readSecurity(this.config),
      prefix: redisPrefix,
      serverId,
      commandTimeoutMs,
      quarantineMs: quarantineMs(maxTtlMs),
      storeIsNew,
      retentionMs,
      recentsRetentionMs,
      clock: systemClock,
      // One for each attempt to connect again; that the store is gone is said once, by `reportHealth`.
      onError: (error: Error) => {
        lastError = error;
        log.debug({ err: error }, 'connection to the store failed');
      },
    };
    try {
      return await connectStore(options, STORE_PATIENCE_MS);
    } catch (cause) {
      const why = lastError === undefined ? 'no answer' : lastError.message;
      throw new StartError(`Redis cannot be used at ${redis.shown} (HOLDFAST_REDIS_URL): ${why}`, { cause });
    }
  }

  private async stop(): Promise<void> {
    // What is half started is ended as what is started; why it failed, `listen` tells.
    await this.listening?.catch(() => undefined);
    await this.grpc?.drain(this.config.drainTimeoutMs);
    this.store?.close();
  }
}

/** The part of the settings that bounds what callers may ask for. */
function limitsOf(config: Config): Limits {
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

function readCredentials({ tlsCert, tlsKey }: Config): ServerCredentials {
  if (tlsCert === undefined || tlsKey === undefined) return ServerCredentials.createInsecure();
  const chain = readPem('HOLDFAST_TLS_CERT', tlsCert);
  const key = readPem('HOLDFAST_TLS_KEY', tlsKey);
  try {
    // grpc-js would say it only when it listens.
    createSecureContext({ cert: chain, key });
    return ServerCredentials.createSsl(null, [{ cert_chain: chain, private_key: key }]);
  } catch (cause) {
    throw new StartError(`HOLDFAST_TLS_CERT and HOLDFAST_TLS_KEY do not work: ${String(cause)}`, { cause });
  }
}

/** What the connections to Redis are made with. */
function readSecurity(config: Config): Security {
  const { redisSentinelAuth, redisTlsCa, redisTlsCert, redisTlsKey } = config;
  const read = (variable: string, path: string | undefined) =>
    path === undefined ? undefined : readPem(variable, path);
  const tls = {
    ca: read('HOLDFAST_REDIS_TLS_CA', redisTlsCa),
    cert: read('HOLDFAST_REDIS_TLS_CERT', redisTlsCert),
    key: read('HOLDFAST_REDIS_TLS_KEY', redisTlsKey),
  };
  try {
    createSecureContext({ ...(tls.ca && { ca: tls.ca }), ...(tls.cert && { cert: tls.cert, key: tls.key }) });
  } catch (cause) {
    throw new StartError(`HOLDFAST_REDIS_TLS_CA, _CERT and _KEY do not work: ${String(cause)}`, { cause });
  }
  return { tls, sentinelUser: redisSentinelAuth?.user };
}

function readPem(variable: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new StartError(`${variable} cannot be read: ${String(cause)}`, { cause });
  }
}

/** Says when the store goes and comes back, and what an operator should know about it, each once. */
function reportHealth(health: StoreHealth, log: Logger): void {
  let reachable = true;
  let warnings: readonly string[] = [];
  let quarantined = false;
  const report = (): void => {
    if (health.reachable !== reachable) {
      reachable = health.reachable;
      if (reachable) log.info({}, 'the store answers again');
      else log.warn({}, 'the store does not answer: not serving until it does');
    }
    const { quarantine } = health;
    if (quarantined !== (quarantine !== undefined)) {
      quarantined = quarantine !== undefined;
      if (quarantine) {
        const { cause, remainingMs } = quarantine;
        log.warn(
          { cause, remainingMs: Math.round(remainingMs) },
          'the store is in quarantine: nothing is granted',
        );
      } else {
        log.info({}, 'the quarantine is over: leases are granted again');
      }
    }
    for (const warning of health.warnings) {
      if (!warnings.includes(warning)) log.warn({}, warning);
    }
    warnings = health.warnings;
  };
  health.onChange(report);
  report();
}

/** grpc-js writes to the console by itself; its words belong in the log, where they are told apart. */
function routeGrpcLog(log: Logger): void {
  const write = (...words: unknown[]): void => log.debug({ from: 'grpc-js' }, format(...words));
  setLogger({ error: write, info: write, debug: write });
}
