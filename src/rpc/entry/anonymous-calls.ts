import { HoldfastError } from '../../base/errors';

/** A connection with calls that need no credential. */
export interface AnonymousSource {
  /** The network of the client: see `networkOf`. */
  readonly network: string;
  anonymousCount: number;
}

/** So many calls of a connection count for no bound of others: a monitoring system has one call at a time. */
const FREE_CALLS = 2;
/** The bounds of the unanswered calls without a credential. */
const BOUNDS = {
  connection: bound('this connection', 40),
  network: bound('this address', 500),
  server: bound('this server', 2000),
};

function bound(owner: string, limit: number): { limit: number; refusal: HoldfastError } {
  const refusal = new HoldfastError(
    'OVERLOADED',
    `${owner} has ${limit} unanswered calls without a credential, the limit: nothing was done; wait for answers before the next call`,
    { metadata: { limit: String(limit) } },
  );
  return { limit, refusal };
}

/**
 * Bounds the unanswered calls that need no credential: health and reflection. Anybody can send such calls, and can leave
 * their answers unread. Streams count for their connection only, because each client of a balancer may have a watch.
 */
export class AnonymousCalls {
  private readonly ofNetwork = new Map<string, number>();
  private count = 0;

  /** Counts a call until `end`. Returns the error if there are too many calls. */
  begin(source: AnonymousSource, unary: boolean): HoldfastError | undefined {
    const refusal = this.refusalFor(source, unary);
    if (refusal !== undefined) return refusal;
    source.anonymousCount += 1;
    if (unary) this.add(source.network, 1);
    return undefined;
  }

  end(source: AnonymousSource, unary: boolean): void {
    source.anonymousCount -= 1;
    if (unary) this.add(source.network, -1);
  }

  private refusalFor(source: AnonymousSource, unary: boolean): HoldfastError | undefined {
    const { connection, network, server } = BOUNDS;
    if (source.anonymousCount >= connection.limit) return connection.refusal;
    if (!unary || source.anonymousCount < FREE_CALLS) return undefined;
    if (this.countOf(source.network) >= network.limit) return network.refusal;
    return this.count >= server.limit ? server.refusal : undefined;
  }

  private add(network: string, change: number): void {
    this.count += change;
    const count = this.countOf(network) + change;
    if (count > 0) this.ofNetwork.set(network, count);
    else this.ofNetwork.delete(network);
  }

  private countOf(network: string): number {
    return this.ofNetwork.get(network) ?? 0;
  }
}
