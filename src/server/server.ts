import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Config } from './config/config';
import { systemClock } from '../base/clock';
import { type Runtime, systemIdentities } from '../base/runtime';
import { Metrics, metricsPage, unmeasured } from './metrics/prometheus';
import type { MetricSources } from './metrics/sources';
import type { Security } from '../redis/topology/open';
import {
  accessSettings,
  auditLogOf,
  limitsOf,
  logExposure,
  logHealth,
  redisPasswordFile,
  routeGrpcLog,
  StartError,
} from './startup';
import { type OpenedStore, openStore, redisCertificates, redisSecurity } from './open-store';
import { CertificateEnds } from '../access/server-certificates';
import { openAccess, type OpenedAccess } from '../access/open-access';
import { UnusableFile } from '../access/watched-files';
import { AdminServer, isReady, LIVENESS, type ProbedServer, probePages } from './admin';
import { GrpcServer } from './grpc-server';
import { closeProducts, type OpenedProduct, type Product, products as offeredProducts } from './products';
import { ListenError } from '../rpc/entry/grpc-js';
import type { Spans } from './tracing';
import type { StoreHealth, StoreOperations } from '../base/store-state';
import { readVersion } from '../base/redis-address';

export { StartError } from './startup';

export interface ServerDependencies {
  readonly log: Logger;
  /** The spans of OpenTelemetry. Undefined: none. */
  readonly spans?: Spans | undefined;
  /** What the server offers. Default: the products of Holdfast. */
  readonly products?: readonly Product[];
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
  stats(): Readonly<Record<string, number>> | undefined;
}

/** Composes one store, the products and one gRPC server. */
export function createServer(config: Config, dependencies: ServerDependencies): HoldfastServer {
  return new ComposedServer(config, dependencies);
}

type Changing<T> = { -readonly [Key in keyof T]: T[Key] };

class ComposedServer implements HoldfastServer {
  readonly version = readVersion();
  private store: OpenedStore | undefined;
  private readonly products: readonly Product[];
  /** Their metrics have values when the server is composed. */
  private readonly offered = new Map<Product, OpenedProduct>();
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
    const { log, products = offeredProducts } = dependencies;
    this.products = products;
    this.auditLog = auditLogOf(log);
    this.certificateEnds = new CertificateEnds(log);
    this.measured = {
      ...unmeasured(this.version),
      certificates: this.certificateEnds,
      isReady: () => isReady(this.probed),
    };
    const openedBy = (product: object): OpenedProduct | undefined =>
      this.grpc && this.offered.get(product as Product);
    const metrics = new Metrics(this.measured, products, openedBy);
    const pages = { ...probePages(this.probed), ...metricsPage(metrics) };
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

  stats(): Readonly<Record<string, number>> | undefined {
    if (this.grpc === undefined) return undefined;
    return Object.assign({}, ...[...this.offered.values()].map((product) => product.stats?.())) as Record<
      string,
      number
    >;
  }

  private async start(): Promise<string> {
    const { config } = this;
    const { log } = this.dependencies;
    const security = redisSecurity(config);
    const { credentials } = await this.loadFiles(security);
    await this.listenForAdmin();
    const serverId = randomUUID();
    routeGrpcLog(log);
    const scripts = this.products.flatMap((product) => product.scripts ?? []);
    const store = openStore(config, security, serverId, log, this.measured.commands, scripts);
    const { node } = store.redis;
    try {
      this.open(store);
      await store.ready();
      this.probed.store = node;
      this.grpc = this.compose(node);
    } catch (error) {
      await closeProducts(this.offered.values(), log);
      store.redis.close();
      throw error;
    }
    this.store = store;
    this.measure(node);
    logHealth(node, log);
    logExposure(config, log);
    this.load();
    const address = await this.grpc
      .listen(config.listen, credentials)
      .catch((error: unknown) => cannotListen(error, 'HOLDFAST_LISTEN'));
    this.probed.phase = 'serving';
    return address;
  }

  /** The server serves meanwhile, because not all products load something, but is not ready. */
  private load(): void {
    const { probed } = this;
    const left = new Map<OpenedProduct, number>();
    for (const product of this.offered.values()) {
      const onProgress = (leftCount: number): void => {
        left.set(product, leftCount);
        probed.unloadedCount = [...left.values()].reduce((sum, count) => sum + count, 0);
        this.grpc?.setLoading(probed.unloadedCount > 0);
      };
      void this.loadOne(product, onProgress);
    }
  }

  private async loadOne(product: OpenedProduct, onProgress: (leftCount: number) => void): Promise<void> {
    try {
      await product.load?.({ onProgress, stopped: this.stopping.signal });
    } catch (error) {
      this.dependencies.log.error({ err: error }, 'a product failed to load');
      onProgress(0);
    }
  }

  /** Loads the files of the settings. Certificates, tokens, keys and the policy are loaded again after changes. */
  private async loadFiles(security: Security): Promise<OpenedAccess> {
    const { config, auditLog, certificateEnds } = this;
    const { log } = this.dependencies;
    const { password } = security;
    const file = redisPasswordFile(config);
    const redisPassword = file && password && { file, use: (text: string) => password.use(text) };
    const policyServices = this.products.flatMap((product) => product.policyServices ?? []);
    const settings = { ...accessSettings(config), policyServices, redisPassword };
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

  private measure(store: StoreHealth): void {
    const { grpc, measured } = this;
    Object.assign(measured, { store, calls: grpc?.calls });
    measured.quarantine.watch(store);
    measured.eventLoop.start();
  }

  private open(store: OpenedStore): void {
    const { config } = this;
    const { log, spans } = this.dependencies;
    const runtime: Runtime = {
      clock: systemClock,
      identities: systemIdentities,
      defect: (error) => log.error({ err: error }, 'background work failed'),
      warn: (text) => log.warn(text),
    };
    const parts = { runtime, config, ...store, log, spans };
    for (const product of this.products) this.offered.set(product, product.open(parts));
  }

  private compose(store: StoreHealth & StoreOperations): GrpcServer {
    const { config, version } = this;
    const { log, spans } = this.dependencies;
    return new GrpcServer({
      products: [...this.offered.values()],
      store,
      limits: limitsOf(config),
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
    });
  }

  private async stop(): Promise<void> {
    // A start in progress must end first, so that its store and gRPC server are closed too. `listen` reports a failure.
    await this.listening?.catch(() => undefined);
    this.probed.phase = 'draining';
    this.stopping.abort();
    await this.grpc?.drain(this.config.drainTimeoutMs);
    this.opened?.close();
    this.store?.redis.close();
    this.measured.eventLoop.close();
    // Last, so that the last numbers of a drain can be read.
    await this.admin.close();
  }
}

function cannotListen(error: unknown, setting: string): never {
  if (!(error instanceof ListenError)) throw error;
  throw new StartError(`${error.message} (${setting})`, { cause: error });
}
