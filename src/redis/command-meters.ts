import { Distribution } from '../base/meters';
import type { RedisEndpoint } from './endpoint';
import type { FailureClass } from './failure-class';

/** From a Redis on the same machine to a timeout (ms). */
const BOUNDS = [0.25, 0.5, 1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2000, 5000];
/** The bound of nodes with numbers of their own. The commands of further nodes share one meter. */
const MAX_NODES = 256;
export const OTHER_NODES = 'other';

/** The commands of this server to one Redis, as plain numbers since the start of the process. */
export class CommandMeter {
  /** From the send of an operation to its answer or failure (ms). */
  readonly ms = new Distribution(BOUNDS);
  /** How many operations were sent in a command with others. */
  sharedCount = 0;
  /** Every class from the start, because Prometheus sees no increase in a series that appears with its first failures. */
  readonly failures: Record<FailureClass, number> = {
    refused: 0,
    redirected: 0,
    full: 0,
    'unknown-script': 0,
    'not-written': 0,
    'connection-lost': 0,
    'timed-out': 0,
    stopped: 0,
    defect: 0,
  };

  constructor(readonly node: string) {}

  failed(failure: FailureClass): void {
    this.failures[failure] += 1;
  }
}

/** The meters of all Redis nodes, by address. A node keeps its meter when its connection is opened again. */
export class CommandMeters {
  private readonly meters = new Map<string, CommandMeter>();

  of(node: string): CommandMeter {
    const name = this.meters.has(node) || this.meters.size < MAX_NODES ? node : OTHER_NODES;
    let meter = this.meters.get(name);
    if (meter === undefined) this.meters.set(name, (meter = new CommandMeter(name)));
    return meter;
  }

  all(): Iterable<CommandMeter> {
    return this.meters.values();
  }
}

/** The address of a node without user and password. Undefined: only the connection knows the address. */
export function nodeName(endpoint: RedisEndpoint): string | undefined {
  if (typeof endpoint !== 'string') {
    return endpoint.path ?? (endpoint.host === undefined ? undefined : `${endpoint.host}:${endpoint.port}`);
  }
  if (!URL.canParse(endpoint)) return endpoint;
  const { hostname, port, pathname } = new URL(endpoint);
  return hostname === '' ? pathname : `${hostname}:${port || 6379}`;
}
