import { status, type ServerWritableStream } from '@grpc/grpc-js';
import {
  HealthCheckResponse_ServingStatus as ServingStatus,
  type HealthCheckRequest,
  type HealthCheckResponse,
  type HealthServer,
  HealthService,
} from '../../generated/typescript/grpc/health/v1/health';
import { type EventShape, EventStream } from '../rpc/streams';
import { admit, OpenStreams } from '../rpc/open-streams';
import { nameOf, type OfferedService, type OpenRows } from '../rpc/service';

/** The health protocol's name for the server as a whole. */
const WHOLE_SERVER = '';
/** The health service name for grants. Grants pause while the store is in quarantine. */
const GRANTS = 'holdfast.grants';

/** A watch needs no credential, and costs about 10 kB of memory. */
const MAX_WATCHES = 10_000;
/**
 * A gRPC client opens one watch for each service config. By connection, because all clients behind a proxy have one address,
 * and each may watch.
 */
const SHARE = { of: 'connection', limit: 16 } as const;

type WatchStream = ServerWritableStream<HealthCheckRequest, HealthCheckResponse>;

const STATES: EventShape<ServingStatus, HealthCheckResponse> = {
  toMessage: (state) => ({ status: state }),
  coalesceKey: () => 'state',
};

/** What the states of all services follow from. */
export interface HealthFacts {
  readonly isServing: boolean;
  /** False: grants pause. */
  readonly isGranting: boolean;
  /** True: dictionaries that belong to the start are being loaded. */
  readonly isLoading: boolean;
}

/**
 * The service grpc.health.v1.Health. All services need the store. `holdfast.grants` has its own state: a quarantine
 * stops grants, but renewals must still find a serving server. While dictionaries are loaded at the start, the server as
 * a whole and its services with dictionaries are NOT_SERVING, and those for leases serve. The package grpc-health-check is
 * not used, because its watches never end and would block a drain.
 */
export class Health {
  readonly service: OfferedService;
  private readonly services: ReadonlySet<string>;
  private readonly watches = new Map<WatchStream, EventStream<ServingStatus, HealthCheckResponse>>();
  private readonly open = new OpenStreams(MAX_WATCHES, 'health watches', SHARE);
  private readonly loading: ReadonlySet<string>;
  private facts: HealthFacts = { isServing: false, isGranting: false, isLoading: false };
  private draining = false;

  constructor(services: readonly OfferedService[]) {
    const loaded = services.filter(({ isLoadedAtStart }) => isLoadedAtStart);
    this.services = new Set([WHOLE_SERVER, ...services.map(nameOf), GRANTS]);
    this.loading = new Set([WHOLE_SERVER, ...loaded.map(nameOf)]);
    const rows: OpenRows<typeof HealthService, HealthServer> = {
      check: {
        load: 'high',
        isProbe: true,
        serve: (call, callback) => {
          if (this.services.has(call.request.service))
            callback(null, { status: this.stateOf(call.request.service) });
          else
            callback({
              code: status.NOT_FOUND,
              details: 'this server does not have this service',
            });
        },
      },
      watch: { load: 'low', isProbe: true, serve: (stream) => this.watch(stream) },
      list: {
        load: 'low',
        isProbe: true,
        serve: (_call, callback) => {
          const statuses = [...this.services].map(
            (service) => [service, { status: this.stateOf(service) }] as const,
          );
          callback(null, { statuses: new Map(statuses) });
        },
      },
    };
    this.service = { definition: HealthService, rows };
  }

  /** Has no effect while the server drains. */
  set(facts: HealthFacts): void {
    if (this.draining) return;
    const old = this.facts;
    for (const [stream, states] of this.watches) {
      const { service } = stream.request;
      const state = this.stateOf(service, facts);
      if (state !== this.stateOf(service, old) && this.services.has(service)) states.send(state);
    }
    this.facts = facts;
  }

  /** Sets NOT_SERVING permanently. Later changes of the store's state have no effect. */
  drain(): void {
    this.set({ ...this.facts, isServing: false });
    this.draining = true;
  }

  /**
   * Ends all health watches. An open watch keeps its connection open, and the server can stop only without connections.
   */
  endWatches(): void {
    for (const [stream, states] of this.watches) {
      states.finish();
      stream.emit('error', {
        code: status.UNAVAILABLE,
        details: 'the server is shutting down',
      });
    }
    this.watches.clear();
  }

  private stateOf(service: string, { isServing, isGranting, isLoading } = this.facts): ServingStatus {
    const isPaused = service === GRANTS ? !isGranting : isLoading && this.loading.has(service);
    return isServing && !isPaused ? ServingStatus.SERVING : ServingStatus.NOT_SERVING;
  }

  private watch(stream: WatchStream): void {
    if (!admit(this.open, stream)) return;
    const states = new EventStream<ServingStatus, HealthCheckResponse>(stream, STATES);
    this.watches.set(stream, states);
    stream.once('cancelled', () => this.watches.delete(stream));
    const known = this.services.has(stream.request.service);
    states.send(known ? this.stateOf(stream.request.service) : ServingStatus.SERVICE_UNKNOWN);
  }
}
