import { status, type ServerWritableStream } from '@grpc/grpc-js';
import {
  HealthCheckResponse_ServingStatus as ServingStatus,
  type HealthCheckRequest,
  type HealthCheckResponse,
  type HealthServer,
} from '../../../generated/typescript/grpc/health/v1/health';
import { EventStream, type EventShape } from '../grpc/stream';

/** By the health protocol, the server as a whole. */
const WHOLE_SERVER = '';
/** Whether anything is granted: while the store is in quarantine all else goes on. */
const GRANTS = 'holdfast.grants';

type WatchStream = ServerWritableStream<HealthCheckRequest, HealthCheckResponse>;

const STATES: EventShape<ServingStatus, HealthCheckResponse> = {
  toMessage: (state) => ({ status: state }),
  slot: () => 'state',
};

/**
 * grpc.health.v1: the server as a whole and each of its services, which are in the same state always, since
 * none works without the store; and apart from them whether anything is granted. Renewals must find a server while
 * grants pause, so that alone takes none out of service. Not the package grpc-health-check, whose watches never end: a drain would
 * wait for each of them.
 */
export class Health {
  readonly handlers: HealthServer;
  private readonly services: ReadonlySet<string>;
  private readonly watches = new Map<WatchStream, EventStream<ServingStatus, HealthCheckResponse>>();
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
            details: 'this server has no such service',
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

  /** Without effect once the server drains. */
  setServing(serving: boolean, granting = serving): void {
    if (this.draining) return;
    this.change(
      serving ? ServingStatus.SERVING : ServingStatus.NOT_SERVING,
      serving && granting ? ServingStatus.SERVING : ServingStatus.NOT_SERVING,
    );
  }

  /** From here on the server is not serving, whatever becomes of the store. */
  drain(): void {
    this.setServing(false);
    this.draining = true;
  }

  /** An open watch would keep its connection open, and the server with it. */
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
    const [before, grantsBefore] = [this.state, this.grants];
    [this.state, this.grants] = [state, grants];
    for (const [stream, states] of this.watches) {
      const { service } = stream.request;
      const changed = service === GRANTS ? grants !== grantsBefore : state !== before;
      if (changed && this.services.has(service)) states.send(this.stateOf(service));
    }
  }

  private watch(stream: WatchStream): void {
    const states = new EventStream<ServingStatus, HealthCheckResponse>(stream, STATES);
    this.watches.set(stream, states);
    stream.once('cancelled', () => this.watches.delete(stream));
    const known = this.services.has(stream.request.service);
    states.send(known ? this.stateOf(stream.request.service) : ServingStatus.SERVICE_UNKNOWN);
  }
}
