import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Config } from './config/config';
import { Autocomplete } from '../autocomplete/autocomplete';
import { type LoadedDictionaries, openIndexes } from '../autocomplete/loaded/loaded-dictionaries';
import { systemClock } from '../base/clock';
import { type Runtime, systemIdentities } from '../base/runtime';
import { Leases, type LeaseStats } from '../leases/leases';
import { defaultSessionLimits } from '../leases/sessions/session-requests';
import { Sessions } from '../leases/sessions/sessions';
import { Metrics, metricsPage, unmeasured } from './metrics/prometheus';
import type { MetricSources } from './metrics/sources';
import type { Security } from '../redis/topology/open';
import {
  accessSettings,
  auditLogOf,
  coreCount,
  defaultDictionaryBytes,
  limitsOf,
  logExposure,
  logHealth,
  preload,
  redisPasswordFile,
  routeGrpcLog,
  StartError,
} from './startup';
import { openStore, redisCertificates, redisSecurity, type Store } from './open-store';
import { CertificateEnds } from '../access/server-certificates';
import { openAccess, type OpenedAccess } from '../access/open-access';
import { UnusableFile } from '../access/watched-files';
import { AdminServer, isReady, LIVENESS, type ProbedServer, probePages } from './admin';
import { type ChangeServices, GrpcServer } from './grpc-server';
import { ListenError } from '../rpc/entry/grpc-js';
import type { Spans } from './tracing';
import { readVersion } from '../base/redis-address';

export { StartError } from './startup';

export interface ServerDependencies {
  readonly log: Logger;
  /** The spans of OpenTelemetry. Undefined: none. */
  readonly spans?: Spans | undefined;
  /** Changes the list of services, for a test or a benchmark. */
  readonly services?: ChangeServices;
}

export interface HoldfastServer {
  readonly version: string;
  /**
   * Connects to the store and listens. Resolves to the address. The dictionaries of HOLDFAST_PRELOAD may be loaded later;
   * health says when. Rejects with a StartError.
   */
  listen(): Promise<string>;
  /** The address of the admin port, `host:port`. Undefined: there is no such port, or the server does not listen yet. */
  readonly adminAddress: string | undefined;
  /** Ends calls and streams within the drain timeout, then closes the store. Safe to call twice or during `listen`. */
  drain(): Promise<void>;
  /** Counts of the work in flight. Undefined until the store is connected. */
  stats(): LeaseStats | undefined;
}

/** Composes one store, the two engines and one gRPC server. */
export function createServer(config: Config, dependencies: ServerDependencies): HoldfastServer {
  return new ComposedServer(config, dependencies);
}

type Changing<T> = { -readonly [Key in keyof T]: T[Key] };

class ComposedServer implements HoldfastServer {
  readonly version = readVersion();
  private store: Store | undefined;
  private permits: Leases | undefined;
  private sessions: Sessions | undefined;
  private autocomplete: Autocomplete | undefined;
  private indexes: LoadedDictionaries | undefined;
  private grpc: GrpcServer | undefined;
  private opened: OpenedAccess | undefined;
  private readonly auditLog: Logger;
  private readonly certificateEnds: CertificateEnds;
  private readonly admin: AdminServer;
  private readonly probed: Changing<ProbedServer> = { phase: 'starting', store: undefined, unloadedCount: 0 };
  private readonly measured: Changing<MetricSources>;
  adminAddress: string | undefined;
  private listening: Promise<string> | undefined;
  private drained: Promise<void> | undefined;
  private readonly stopping = new AbortController();

  constructor(
    private readonly config: Config,
    private readonly dependencies: ServerDependencies,
  ) {
    const { log } = dependencies;
    this.auditLog = auditLogOf(log);
    this.certificateEnds = new CertificateEnds(log);
    this.measured = {
      ...unmeasured(this.version),
      certificates: this.certificateEnds,
      isReady: () => isReady(this.probed),
    };
    const pages = { ...probePages(this.probed), ...metricsPage(new Metrics(this.measured)) };
    this.admin = new AdminServer(pages, LIVENESS, (error) =>
      log.error({ err: error }, 'an admin page failed'),
    );
  }

  listen(): Promise<string> {
    this.listening ??= this.start();
    return this.listening;
  }

  drain(): Promise<void> {
    this.drained ??= this.stop();
    return this.drained;
  }

  stats(): LeaseStats | undefined {
    return this.permits?.stats();
  }

  private async start(): Promise<string> {
    const { config } = this;
    const { log } = this.dependencies;
    const security = redisSecurity(config);
    const { credentials } = await this.loadFiles(security);
    await this.listenForAdmin();
    const serverId = randomUUID();
    routeGrpcLog(log);
    this.store = await openStore(config, security, serverId, log, this.measured.commands);
    this.probed.store = this.store.node;
    this.grpc = this.compose(this.store, serverId);
    this.measure(this.store);
    logHealth(this.store.node, log);
    logExposure(config, log);
    void this.preload();
    const address = await this.grpc
      .listen(config.listen, credentials)
      .catch((error: unknown) => cannotListen(error, 'HOLDFAST_LISTEN'));
    this.probed.phase = 'serving';
    return address;
  }

  /** The server serves meanwhile, because leases need no dictionary, but is not ready. */
  private async preload(): Promise<void> {
    const { indexes, grpc, probed } = this;
    const onProgress = (leftCount: number): void => {
      probed.unloadedCount = leftCount;
      grpc?.setLoading(leftCount > 0);
    };
    if (indexes === undefined) return;
    const shared = { names: this.config.preload, indexes, clock: systemClock, log: this.dependencies.log };
    await preload({ ...shared, onProgress, stopped: this.stopping.signal });
  }

  /** Loads the files of the settings. Certificates, tokens, keys and the policy are loaded again after changes. */
  private async loadFiles(security: Security): Promise<OpenedAccess> {
    const { config, auditLog, certificateEnds } = this;
    const { log } = this.dependencies;
    const { password } = security;
    const file = redisPasswordFile(config);
    const redisPassword = file && password && { file, use: (text: string) => password.use(text) };
    const settings = { ...accessSettings(config), redisPassword };
    try {
      this.opened = await openAccess(settings, systemClock, log, auditLog, certificateEnds);
      this.measured.access = this.opened;
      for (const one of redisCertificates(security)) certificateEnds.add(one);
      return this.opened;
    } catch (error) {
      throw error instanceof UnusableFile ? new StartError(error.message, { cause: error }) : error;
    }
  }

  /** The port is open before the store is connected, so that probes see a server that starts. */
  private async listenForAdmin(): Promise<void> {
    const { adminListen, adminListenIsSet } = this.config;
    if (adminListen === undefined) return;
    try {
      this.adminAddress = await this.admin.listen(adminListen);
    } catch (error) {
      if (adminListenIsSet || !(error instanceof ListenError)) cannotListen(error, 'HOLDFAST_ADMIN_LISTEN');
      const { log } = this.dependencies;
      log.warn({}, `${error.message}: this server has no admin port (HOLDFAST_ADMIN_LISTEN)`);
    }
  }

  private measure(store: Store): void {
    const { permits, sessions, autocomplete, indexes, grpc, measured } = this;
    Object.assign(measured, {
      store: store.node,
      permits,
      sessions,
      autocomplete,
      indexes,
      calls: grpc?.calls,
    });
    measured.quarantine.watch(store.node);
    measured.eventLoop.start();
  }

  private compose(store: Store, serverId: string): GrpcServer {
    const { config, version } = this;
    const { log, services, spans } = this.dependencies;
    const limits = limitsOf(config);
    const runtime: Runtime = {
      clock: systemClock,
      identities: systemIdentities,
      defect: (error) => log.error({ err: error }, 'background work failed'),
      warn: (text) => log.warn(text),
    };
    const { defect: onDefect, warn: onWarning, ...shared } = runtime;
    this.permits = new Leases({ runtime, store: store.permits, limits, serverId, observer: spans });
    this.indexes = openIndexes({
      ...shared,
      onDefect,
      onWarning,
      store: store.entries,
      budgetBytes: config.dictionaryMemoryBytes ?? defaultDictionaryBytes(),
      coreCount: coreCount(),
    });
    this.sessions = new Sessions({ runtime, engine: this.permits, limits: defaultSessionLimits });
    const { entries, recents } = store;
    this.autocomplete = new Autocomplete({ ...shared, onDefect, entries, recents, indexes: this.indexes });
    return new GrpcServer({
      engine: this.permits,
      autocomplete: this.autocomplete,
      sessions: this.sessions,
      store: store.node,
      limits,
      version,
      clock: systemClock,
      log,
      keepaliveTimeMs: config.keepaliveTimeMs,
      keepaliveTimeoutMs: config.keepaliveTimeoutMs,
      access: this.opened?.access,
      authorization: this.opened?.authorization,
      accounts: this.opened?.accounts,
      auditLog: this.auditLog,
      connectionMaxAgeMs: config.connectionMaxAgeMs,
      reflection: config.reflection,
      spans,
      services,
    });
  }

  private async stop(): Promise<void> {
    // A start in progress must end first, so that its store and gRPC server are closed too. `listen` reports a failure.
    await this.listening?.catch(() => undefined);
    this.probed.phase = 'draining';
    this.stopping.abort();
    await this.grpc?.drain(this.config.drainTimeoutMs);
    this.opened?.close();
    this.permits?.close();
    this.indexes?.close();
    this.store?.close();
    this.measured.eventLoop.close();
    // Last, so that the last numbers of a drain can be read.
    await this.admin.close();
  }
}

function cannotListen(error: unknown, setting: string): never {
  if (!(error instanceof ListenError)) throw error;
  throw new StartError(`${error.message} (${setting})`, { cause: error });
}
