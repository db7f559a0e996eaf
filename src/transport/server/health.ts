import { status, type ServerWritableStream } from '@grpc/grpc-js';
import {
  HealthCheckResponse_ServingStatus as ServingStatus,
  type HealthCheckRequest,
  type HealthCheckResponse,
  type HealthServer,
} from '../../../generated/typescript/grpc/health/v1/health';
import { EventStream, type EventShape } from '../grpc/event-stream';
import { admit, OpenStreams } from '../grpc/open-streams';

/** The health protocol's name for the server as a whole. */
const WHOLE_SERVER = '';
/** The health service name for grants. Grants pause while the store is in quarantine. */
const GRANTS = 'holdfast.grants';

/** A watch needs no credential, and costs about 10 kB of memory. */
const MAX_WATCHES = 10_000;
/** A gRPC client opens one watch for each service config. */
const MAX_WATCHES_OF_CONNECTION = 16;

type WatchStream = ServerWritableStream<HealthCheckRequest, HealthCheckResponse>;

const STATES: EventShape<ServingStatus, HealthCheckResponse> = {
  toMessage: (state) => ({ status: state }),
  coalesceKey: () => 'state',
};

/**
 * The service grpc.health.v1.Health. The server and all its services share one state, because all need the store.
 * `holdfast.grants` has its own state: a quarantine stops grants, but renewals must still find a serving server. The
 * package grpc-health-check is not used, because its watches never end and would block a drain.
 */
export class Health {
  readonly handlers: HealthServer;
  private readonly services: ReadonlySet<string>;
  private readonly watches = new Map<WatchStream, EventStream<ServingStatus, HealthCheckResponse>>();
  private readonly open = new OpenStreams(MAX_WATCHES, 'health watches', MAX_WATCHES_OF_CONNECTION);
  private state = ServingStatus.NOT_SERVING;
  private grants = ServingStatus.NOT_SERVING;
  private draining = false;

  constructor(services: readonly string[]) {
    this.services = new Set([WHOLE_SERVER, ...services, GRANTS]);
    this.handlers = {
      check: (call, callback) => {
        if (this.services.has(call.request.service))
          callback(null, { status: this.stateOf(call.request.service) });
        else
          callback({
            code: status.NOT_FOUND,
            details: 'this server does not have this service',
          });
      },
      watch: (stream) => this.watch(stream),
      list: (_call, callback) => {
        const statuses = [...this.services].map(
          (service) => [service, { status: this.stateOf(service) }] as const,
        );
        callback(null, { statuses: new Map(statuses) });
      },
    };
  }

  /** Has no effect while the server drains. */
  setServing(serving: boolean, granting = serving): void {
    if (this.draining) return;
    this.change(
      serving ? ServingStatus.SERVING : ServingStatus.NOT_SERVING,
      serving && granting ? ServingStatus.SERVING : ServingStatus.NOT_SERVING,
    );
  }

  /** Sets NOT_SERVING permanently. Later changes of the store's state have no effect. */
  drain(): void {
    this.setServing(false);
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

  private stateOf(service: string): ServingStatus {
    return service === GRANTS ? this.grants : this.state;
  }

  private change(state: ServingStatus, grants: ServingStatus): void {
    const [oldState, oldGrants] = [this.state, this.grants];
    [this.state, this.grants] = [state, grants];
    for (const [stream, states] of this.watches) {
      const { service } = stream.request;
      const changed = service === GRANTS ? grants !== oldGrants : state !== oldState;
      if (changed && this.services.has(service)) states.send(this.stateOf(service));
    }
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
