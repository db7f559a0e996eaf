import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Server, type ServerCredentials } from '@grpc/grpc-js';
import { HealthService } from '../../generated/typescript/grpc/health/v1/health';
import { ServerReflectionService as ReflectionV1 } from '../../generated/typescript/grpc/reflection/v1/reflection';
import { ServerReflectionService as ReflectionV1Alpha } from '../../generated/typescript/grpc/reflection/v1alpha/reflection';
import { ServerServiceService } from '../../generated/typescript/holdfast/v1/server_service';
import type { Accounts } from '../base/accounts';
import { defaultAutocompleteLimits, type AutocompleteLimits } from '../autocomplete/limits';
import { Callers } from '../base/callers';
import type { Clock } from '../base/clock';
import type { Limits } from '../leases/limits';
import type { LeaseEngine } from '../leases/lease-engine';
import type { StoreHealth, StoreOperations } from '../base/store-health';
import type { Sessions } from '../leases/sessions/sessions';
import type { AutocompleteEngine } from '../autocomplete/autocomplete-engine';
import {
  autocompleteHandlers,
  autocompleteServiceDefinition,
  type AutocompleteHandlers,
} from '../autocomplete/service/autocomplete-handlers';
import { AUTOCOMPLETE_REQUEST_BYTES } from '../autocomplete/service/request-sizes';
import type { Access } from '../access/access';
import { AuditLog } from '../access/audit';
import type { Authorization } from '../access/authorization';
import { readCallRules } from '../access/call-rules';
import { CallerCounts } from '../rpc/caller-counts';
import type { CallContext } from '../rpc/handlers';
import { callAnswers } from '../rpc/entry/call-answers';
import { CallMeters, type CutCause } from '../rpc/entry/call-meters';
import type { CallSpans } from '../rpc/entry/call-spans';
import { CallGate } from '../rpc/entry/call-gate';
import { callKinds } from '../rpc/call-kinds';
import { Connections } from '../rpc/entry/connections';
import type { Peer } from '../rpc/entry/grpc-internals';
import { listen, type Address } from '../rpc/entry/listen';
import type { Log } from '../base/log';
import { SEVERAL_ADDRESSES } from '../base/network';
import { RequestIntake } from '../rpc/entry/intake';
import { SampledLines, type SampleBounds } from '../base/sampled-lines';
import type { IntakeLimits, IntakeStats } from '../rpc/entry/unfinished';
import { lockHandlers, lockServiceDefinition } from '../leases/service/lock-handlers';
import { semaphoreHandlers, semaphoreServiceDefinition } from '../leases/service/semaphore-handlers';
import {
  sessionHandlers,
  sessionServiceDefinition,
  SESSION_REQUEST_BYTES,
} from '../leases/service/session-handlers';
import { Descriptors } from './descriptors';
import { drainServer } from './drain';
import { Health } from './health';
import { Reflection } from './reflection';
import { serverHandlers } from './server-service';
import { UnbegunCalls } from '../rpc/entry/unbegun-calls';

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
const DESCRIPTOR_FILE = join(__dirname, '../../../generated/descriptor.binpb');

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
