import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Server, type ServerCredentials } from '@grpc/grpc-js';
import { HealthService } from '../../generated/typescript/grpc/health/v1/health';
import { ServerReflectionService as ReflectionV1 } from '../../generated/typescript/grpc/reflection/v1/reflection';
import { ServerReflectionService as ReflectionV1Alpha } from '../../generated/typescript/grpc/reflection/v1alpha/reflection';
import { ServerServiceService } from '../../generated/typescript/holdfast/v1/server_service';
import type { Access } from '../access/access';
import { AuditLog } from '../access/audit';
import type { Authorization } from '../access/authorization';
import { readCallRules } from '../access/call-rules';
import type { AutocompleteEngine } from '../autocomplete/autocomplete';
import {
  AUTOCOMPLETE_REQUEST_BYTES,
  autocompleteHandlers,
  type AutocompleteHandlers,
  autocompleteServiceDefinition,
} from '../autocomplete/service/autocomplete-services';
import { type AutocompleteLimits, defaultAutocompleteLimits } from '../autocomplete/suggestion';
import type { Accounts } from '../base/accounts';
import { Callers, SEVERAL_ADDRESSES } from '../base/callers';
import type { Clock } from '../base/clock';
import type { Log } from '../base/meters';
import { type SampleBounds, SampledLines } from '../base/sampled-lines';
import type { StoreHealth, StoreOperations } from '../base/store-state';
import type { Limits } from '../leases/lease';
import type { LeaseEngine } from '../leases/leases';
import {
  lockHandlers,
  lockServiceDefinition,
  semaphoreHandlers,
  semaphoreServiceDefinition,
} from '../leases/service/lease-services';
import {
  SESSION_REQUEST_BYTES,
  sessionHandlers,
  sessionServiceDefinition,
} from '../leases/service/session-conversation';
import type { Sessions } from '../leases/sessions/sessions';
import { callKinds } from '../rpc/call-kinds';
import { CallerCounts } from '../rpc/caller-counts';
import { callAnswers } from '../rpc/entry/call-answers';
import { CallMeters, type CallSpans, type CutCause } from '../rpc/entry/call-meters';
import { Connections } from '../rpc/entry/connections';
import { CallGate } from '../rpc/entry/gate';
import { type Address, listen, type Peer } from '../rpc/entry/grpc-js';
import { RequestIntake } from '../rpc/entry/intake';
import { UnbegunCalls } from '../rpc/entry/unbegun-calls';
import type { IntakeLimits, IntakeStats } from '../rpc/entry/unfinished';
import type { CallContext } from '../rpc/handlers';
import { Health } from './health';
import { Descriptors, Reflection } from './reflection';
import { serverHandlers } from './server-service';

export interface DrainParts {
  readonly server: Server;
  readonly connections: Connections;
  readonly health: Health;
  readonly reflection: Reflection;
  /** Refuses new work. Resolves when every wait and stream has ended. */
  readonly engine: { drain(): Promise<unknown> };
  readonly log: Log;
}

/**
 * Stops a server without the loss of a lease. Health becomes NOT_SERVING before streams end, so load balancers choose
 * another server. Streams end with a status after which clients retry. A forced shutdown would send no such status.
 * Connections that are still open after `timeoutMs` are closed.
 */
async function drainServer(parts: DrainParts, timeoutMs: number): Promise<void> {
  const { server, connections, health, reflection, engine, log } = parts;
  const timeout = startTimeout(timeoutMs);
  try {
    health.drain();
    const ended = engine.drain().catch((error: unknown) => {
      log.error({ err: error }, 'the engine failed to drain');
    });
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

const SERVICES = [
  'holdfast.v1.LockService',
  'holdfast.v1.SemaphoreService',
  'holdfast.v1.SessionService',
  'holdfast.v1.AutocompleteService',
  'holdfast.v1.ServerService',
];
/** The services that are NOT_SERVING while the server loads the dictionaries of HOLDFAST_PRELOAD. */
const WITH_DICTIONARIES = ['holdfast.v1.AutocompleteService'];
const REQUEST_BYTES = new Map([...AUTOCOMPLETE_REQUEST_BYTES, ...SESSION_REQUEST_BYTES]);
const SESSION_PATHS: ReadonlySet<string> = new Set(SESSION_REQUEST_BYTES.keys());
/** The services with methods that the gate knows. Calls of other services are treated as reads. */
const OFFERED_SERVICES = [
  lockServiceDefinition,
  semaphoreServiceDefinition,
  autocompleteServiceDefinition,
  sessionServiceDefinition,
  ServerServiceService,
  HealthService,
  ReflectionV1,
  ReflectionV1Alpha,
];
/** One line for each address and cause. */
const CUTS: SampleBounds = { intervalMs: 10_000, linesOfKey: 1, keys: 20 };
/** The part of the drain in which clients may move their sessions. Then the sessions end with a status. */
const SESSIONS_SHARE = 0.8;
/** The build copies this file into dist/, so the path is the same for the compiled code. */
const DESCRIPTOR_FILE = join(__dirname, '../../generated/descriptor.binpb');

export interface GrpcServerParts {
  readonly engine: LeaseEngine & { drain(): Promise<void> };
  /**
   * `drain` is called after all streams have received the order to end. An open import may then still abandon its entries
   * or finish its commit.
   */
  readonly autocomplete: AutocompleteEngine & { drain(): void };
  readonly autocompleteLimits?: AutocompleteLimits | undefined;
  readonly sessions: Sessions;
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
  /** Adds services of a test or a benchmark. */
  readonly extend?: ((server: Server, context: CallContext) => void) | undefined;
}

/** The gRPC server: registers the services, listens, and drains. */
export class GrpcServer {
  /** Counts the calls of all clients. */
  readonly calls = new CallMeters(OFFERED_SERVICES);
  private readonly server: Server;
  private readonly intake: RequestIntake;
  private readonly health: Health;
  private readonly reflection: Reflection;
  private readonly autocomplete: Pick<AutocompleteHandlers, 'drain' | 'close'>;
  private readonly connections: Connections;
  private readonly audit: AuditLog;
  private readonly cuts: SampledLines;
  private isLoading = false;
  private readonly unbegun: UnbegunCalls;

  constructor(private readonly parts: GrpcServerParts) {
    const { engine, sessions, store, limits, version, clock, log, access } = parts;
    const descriptors = readFileSync(DESCRIPTOR_FILE);
    this.audit = new AuditLog(parts.auditLog ?? log, clock);
    this.cuts = new SampledLines(log, clock, CUTS, 'cut more connections');
    const counts = new CallerCounts(new Callers(clock), this.audit);
    const rules = readCallRules(descriptors);
    this.unbegun = new UnbegunCalls(counts, this.calls, rules, access);
    const control = {
      rules,
      authorization: parts.authorization,
      accounts: parts.accounts,
      audit: this.audit,
    };
    const context: CallContext = { clock, log, access, control, counts };
    const times = { timeMs: parts.keepaliveTimeMs, timeoutMs: parts.keepaliveTimeoutMs };
    const moving = {
      paths: SESSION_PATHS,
      leave: (connection: object) => sessions.leaveConnection(connection),
    };
    this.connections = new Connections(
      times,
      log,
      moving,
      (cause, peer) => this.noteCut(cause, peer),
      parts.connectionMaxAgeMs,
    );
    this.intake = new RequestIntake({
      clock,
      log,
      maxRequestBytes: REQUEST_BYTES,
      limits: parts.intakeLimits,
      onRefused: this.unbegun.refusedAtIntake,
      onBytes: (connection, bytes) => this.connections.idleFrames.requested(connection, bytes),
    });
    // There is no max_concurrent_streams. Above such a limit clients queue calls silently, and a release could wait
    // behind hold streams.
    this.server = new Server({
      // Nothing reads the channelz counters, and their updates would cost time in each call.
      'grpc.enable_channelz': 0,
      interceptors: [
        callAnswers(this.calls, parts.spans),
        this.connections.interceptor,
        this.intake.interceptor,
      ],
    });
    this.health = new Health(SERVICES, WITH_DICTIONARIES);
    this.reflection = new Reflection(new Descriptors(descriptors), log);
    this.server.addService(lockServiceDefinition, lockHandlers(context, engine, limits));
    this.server.addService(semaphoreServiceDefinition, semaphoreHandlers(context, engine, limits));
    this.autocomplete = this.addAutocomplete(context);
    const { sessionFailures } = this.calls;
    this.server.addService(
      sessionServiceDefinition,
      sessionHandlers(context, sessions, limits, sessionFailures),
    );
    this.server.addService(
      ServerServiceService,
      serverHandlers(context, version, limits, store, counts.callers),
    );
    this.server.addService(HealthService, this.health.handlers);
    if (parts.reflection !== false) {
      this.server.addService(ReflectionV1, this.reflection.handlers);
      this.server.addService(ReflectionV1Alpha, this.reflection.handlers);
    }
    parts.extend?.(this.server, context);
    this.reportHealth();
    store.onChange(() => this.reportHealth());
  }

  /** True: the server still loads dictionaries that belong to its start. */
  setLoading(isLoading: boolean): void {
    this.isLoading = isLoading;
    this.reportHealth();
  }

  /** Resolves to the target that clients use. Rejects with a ListenError. */
  async listen(address: Address, credentials: ServerCredentials): Promise<string> {
    const target = await listen(this.server, address, credentials);
    const kindOf = callKinds(OFFERED_SERVICES, REQUEST_BYTES);
    const { clock } = this.parts;
    const gate = new CallGate({
      clock,
      kindOf,
      ...this.unbegun.forGate(),
      unfinishedCount: () => this.intake.unfinished.count,
      onUntaken: (session) => this.connections.cut(session, 'unread-answers'),
    });
    this.connections.watch(this.server, gate, this.unbegun.refusedHandshake);
    return target;
  }

  /** Ends all work in order. Connections that are still open after `timeoutMs` are closed. */
  async drain(timeoutMs: number): Promise<void> {
    const { server, connections, health, reflection, autocomplete } = this;
    const { log } = this.parts;
    const engine = {
      drain: () => {
        autocomplete.drain();
        this.parts.autocomplete.drain();
        return Promise.all([
          this.parts.engine.drain(),
          this.parts.sessions.drain(timeoutMs * SESSIONS_SHARE),
        ]);
      },
    };
    await drainServer({ server, connections, health, reflection, engine, log }, timeoutMs);
    this.intake.unfinished.close();
    await autocomplete.close();
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

  private addAutocomplete(context: CallContext): AutocompleteHandlers {
    const { autocomplete, autocompleteLimits = defaultAutocompleteLimits } = this.parts;
    const { queryFailures } = this.calls;
    const added = autocompleteHandlers(context, autocomplete, autocompleteLimits, queryFailures);
    this.server.addService(autocompleteServiceDefinition, added.handlers);
    return added;
  }
}
