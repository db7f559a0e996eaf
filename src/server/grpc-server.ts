import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Server, type ServerCredentials } from '@grpc/grpc-js';
import type { Access } from '../access/access';
import { AuditLog } from '../access/audit';
import type { Authorization } from '../access/authorization';
import { describedFiles } from '../access/verbs';
import type { Accounts } from '../base/accounts';
import { Callers } from '../base/callers';
import type { Clock } from '../base/clock';
import { SEVERAL_ADDRESSES, type Log, type SampleBounds, SampledLines } from '../base/log';
import type { StoreHealth, StoreOperations } from '../base/store-state';
import type { Limits } from '../leases/lease';
import { CallerCounts, UnbegunCalls } from '../rpc/caller-counts';
import { callAnswers } from '../rpc/entry/call-answers';
import { CallMeters, type CallSpans, type CutCause } from '../rpc/entry/call-meters';
import { Connections } from '../rpc/entry/connections';
import { CallGate } from '../rpc/entry/gate';
import { type Address, listen, type Peer } from '../rpc/entry/grpc-js';
import { RequestIntake } from '../rpc/entry/intake';
import type { IntakeLimits, IntakeStats } from '../rpc/entry/unfinished';
import { grpcService } from '../rpc/handlers';
import { type OfferedCall, offeredCalls, type OfferedService } from '../rpc/service';
import { Health } from './health';
import { closeProducts, type OpenedProduct } from './products';
import { Descriptors, Reflection } from './reflection';
import { serverService } from './server-service';

interface DrainParts {
  readonly server: Server;
  readonly connections: Connections;
  readonly health: Health;
  readonly reflection: Reflection;
  readonly products: readonly OpenedProduct[];
  readonly log: Log;
}

/**
 * Stops a server without the loss of a lease. Health becomes NOT_SERVING before streams end, so load balancers choose
 * another server. Streams end with a status after which clients retry. A forced shutdown would send no such status.
 * Connections that are still open after `timeoutMs` are closed.
 */
async function drainServer(parts: DrainParts, timeoutMs: number): Promise<void> {
  const { server, connections, health, reflection, products, log } = parts;
  const timeout = startTimeout(timeoutMs);
  try {
    health.drain();
    const drained = async (product: OpenedProduct): Promise<void> => {
      try {
        await product.drain?.(timeoutMs);
      } catch (error) {
        log.error({ err: error }, 'a product failed to drain');
      }
    };
    const ended = Promise.all(products.map(drained));
    if (await timeout.expiresBefore(ended))
      log.warn({}, 'waits and streams are still open after the drain timeout');
    health.endWatches();
    reflection.endStreams();
    if (await timeout.expiresBefore(shutdown(server, connections))) {
      log.warn({}, 'connections are still open after the drain timeout and are closed now');
    }
  } finally {
    timeout.cancel();
    await connections.closeAll();
    server.forceShutdown();
  }
}

/** Stops listening and sends GOAWAY to all clients. Resolves when the last call has ended, or when no connection is open. */
function shutdown(server: Server, connections: Connections): Promise<void> {
  const completed = new Promise<void>((resolve) => {
    server.tryShutdown(() => resolve());
  });
  // Node never calls the callback of a connection that is destroyed but has not closed yet, and grpc-js waits for
  // this callback.
  return Promise.race([completed, connections.noneOpen()]);
}

interface Timeout {
  /** Resolves to true if the timeout expires before the work ends. */
  expiresBefore(work: Promise<unknown>): Promise<boolean>;
  cancel(): void;
}

function startTimeout(timeoutMs: number): Timeout {
  let timer: NodeJS.Timeout;
  const expired = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(true), timeoutMs);
  });
  return {
    expiresBefore: (work) => Promise.race([work.then(() => false), expired]),
    cancel: () => clearTimeout(timer),
  };
}

/** One line for each address and cause. */
const CUTS: SampleBounds = { intervalMs: 10_000, linesOfKey: 1, keys: 20 };
/** The build copies this file into dist/, so the path is the same for the compiled code. */
const DESCRIPTOR_FILE = join(__dirname, '../../generated/descriptor.binpb');

export interface GrpcServerParts {
  /** The server drains and closes them. */
  readonly products: readonly OpenedProduct[];
  readonly store: StoreHealth & StoreOperations;
  readonly limits: Limits;
  readonly intakeLimits?: IntakeLimits | undefined;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly keepaliveTimeMs: number;
  readonly keepaliveTimeoutMs: number;
  /** Proves the caller of each call, except calls of health and reflection. Undefined: no authentication. */
  readonly access?: Access | undefined;
  /** The present policy. Undefined: every caller may do everything. */
  readonly authorization?: Authorization | undefined;
  /** Counts what each caller uses. Undefined: no quotas. */
  readonly accounts?: Accounts | undefined;
  /** The log of refusals and of acts that an auditor wants to see. Default: `log`. */
  readonly auditLog?: Log | undefined;
  /** Default: connections have no maximum age. */
  readonly connectionMaxAgeMs?: number | undefined;
  /** Default: reflection is offered. */
  readonly reflection?: boolean | undefined;
  /** Default: no spans. */
  readonly spans?: CallSpans | undefined;
}

/** The gRPC server: offers the services, listens, and drains. */
export class GrpcServer {
  /** Counts the calls of all clients. */
  readonly calls = new CallMeters();
  private readonly server: Server;
  private readonly intake: RequestIntake;
  private readonly health: Health;
  private readonly reflection: Reflection;
  private readonly connections: Connections;
  private readonly audit: AuditLog;
  private readonly cuts: SampledLines;
  /** All calls, by path. */
  readonly offered: ReadonlyMap<string, OfferedCall>;
  private isLoading = false;
  private readonly unbegun: UnbegunCalls;

  constructor(private readonly parts: GrpcServerParts) {
    const { products, store, clock, log, access } = parts;
    // The parts of a serialized message add up to one message.
    const files = describedFiles(
      Buffer.concat([
        readFileSync(DESCRIPTOR_FILE),
        ...products.flatMap((product) => product.descriptors ?? []),
      ]),
    );
    this.audit = new AuditLog(parts.auditLog ?? log, clock);
    this.cuts = new SampledLines(log, clock, CUTS, 'cut more connections');
    const counts = new CallerCounts(new Callers(clock), this.audit);
    const offered = [...products.flatMap(({ services }) => services), this.serverService(counts.callers)];
    this.health = new Health(offered);
    this.reflection = new Reflection(new Descriptors(files), log);
    const services = [...offered, this.health.service];
    this.offered = offeredCalls([...services, ...this.reflection.services], files);
    for (const call of this.offered.values()) this.calls.of(call);
    this.unbegun = new UnbegunCalls(counts, this.calls, access);
    this.connections = this.openConnections();
    this.intake = this.openIntake();
    // There is no max_concurrent_streams. Above such a limit clients queue calls silently, and a release could wait
    // behind hold streams.
    this.server = new Server({
      // Nothing reads the channelz counters, and their updates would cost time in each call.
      'grpc.enable_channelz': 0,
      interceptors: [callAnswers(this.calls, parts.spans), this.intake.interceptor],
    });
    this.offer(parts.reflection === false ? services : [...services, ...this.reflection.services], counts);
    this.reportHealth();
    store.onChange(() => this.reportHealth());
  }

  private serverService(callers: Callers): OfferedService {
    const { products, limits, version, store, clock, log } = this.parts;
    const features = products.flatMap((product) => product.features ?? []);
    return serverService({ version, limits, features, store, callers, clock, log });
  }

  private offer(services: readonly OfferedService[], counts: CallerCounts): void {
    const { clock, log, access, authorization, accounts } = this.parts;
    const calls = [...this.offered.values()];
    const rules = new Map(
      calls.flatMap(({ row, rule }) => (rule === undefined ? [] : [[row, rule] as const])),
    );
    const { audit } = this;
    const context = { clock, log, access, authorization, accounts, audit, rules, counts };
    for (const service of services) {
      const { definition, handlers } = grpcService(service, this.offered, context);
      this.server.addService(definition, handlers);
    }
  }

  private openConnections(): Connections {
    const { keepaliveTimeMs: timeMs, keepaliveTimeoutMs: timeoutMs, products, log } = this.parts;
    const leave = (connection: object): void => products.forEach((product) => product.leave?.(connection));
    const onCut = (cause: CutCause, peer: Peer): void => this.noteCut(cause, peer);
    return new Connections({ timeMs, timeoutMs }, log, leave, onCut, this.parts.connectionMaxAgeMs);
  }

  private openIntake(): RequestIntake {
    const { clock, log, intakeLimits: limits } = this.parts;
    return new RequestIntake({
      clock,
      log,
      limits,
      onRefused: this.unbegun.refusedAtIntake,
      onBytes: (connection, bytes) => this.connections.idleFrames.requested(connection, bytes),
    });
  }

  /** True: the server still loads dictionaries that belong to its start. */
  setLoading(isLoading: boolean): void {
    this.isLoading = isLoading;
    this.reportHealth();
  }

  /** Resolves to the target that clients use. Rejects with a ListenError. */
  async listen(address: Address, credentials: ServerCredentials): Promise<string> {
    const target = await listen(this.server, address, credentials);
    const { clock } = this.parts;
    const gate = new CallGate({
      clock,
      ...this.unbegun.forGate(),
      unfinishedCount: () => this.intake.unfinished.count,
    });
    this.connections.watch(this.server, gate, this.offered, this.unbegun.refusedHandshake);
    return target;
  }

  /** Ends all work in order. Connections that are still open after `timeoutMs` are closed. */
  async drain(timeoutMs: number): Promise<void> {
    const { server, connections, health, reflection } = this;
    const { products, log } = this.parts;
    await drainServer({ server, connections, health, reflection, products, log }, timeoutMs);
    this.intake.unfinished.close();
    await closeProducts(products, log);
    this.audit.close();
    this.cuts.close();
  }

  /** Counts of the requests that have not arrived completely. */
  unfinishedRequests(): IntakeStats {
    return this.intake.unfinished.stats();
  }

  private noteCut(cause: CutCause, { address, text }: Peer): void {
    this.calls.cutConnections[cause] += 1;
    this.cuts.add(
      `${cause} ${address}`,
      (isSeveral) => ({ cause, peer: isSeveral ? SEVERAL_ADDRESSES : address }),
      () => this.parts.log.warn({ cause, peer: text }, 'cut a connection'),
    );
  }

  private reportHealth(): void {
    const { store } = this.parts;
    this.health.set({
      isServing: store.reachable && store.suitable,
      isGranting: store.quarantine === undefined,
      isLoading: this.isLoading,
    });
  }
}
