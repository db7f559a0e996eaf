import type { Resource } from '../../../src/leases/lease';
import type { ModelWorld } from '../model-store';
import type { ModelRequest } from '../lease-model-request';
import type { KnownLease } from './asked-request';

/** The store counts whole microseconds. */
const ROUNDING_MS = 0.002;

/** The belief of one call in its lease. */
export class Belief {
  /** The latest end that the client was told, on the world's clock (ms). */
  until = -Infinity;
  /** True: the client was told that the lease is no longer its own. */
  isOver = false;

  constructor(
    readonly resource: Resource,
    readonly token: bigint,
  ) {}
}

/** The leases in which clients believe, against what the store holds at the same time. */
export class Beliefs {
  private readonly beliefs: Belief[] = [];
  /** The leases for which a client has asked for the release. */
  private readonly released = new Set<string>();

  constructor(
    private readonly world: ModelWorld,
    private readonly violations: string[],
  ) {}

  begin(resource: Resource, token: bigint): Belief {
    const belief = new Belief(resource, token);
    this.beliefs.push(belief);
    return belief;
  }

  /**
   * A client was told of an end of its lease. The store must hold the lease for at least as long.
   * @param until the end by the client's clock, as a time of the world's clock (ms)
   */
  tell(belief: Belief, until: number): void {
    belief.until = Math.max(belief.until, until);
    if (!this.isBelieved(belief)) return;
    const leftMs = this.storedLeftMs(belief);
    const toldMs = until - this.world.clock.now();
    if (toldMs > leftMs + ROUNDING_MS) {
      this.violations.push(`${text(belief)} was told to end in ${toldMs} ms, and ends in ${leftMs} ms`);
    }
  }

  /** A client asks for the release of a lease. No client believes in the lease any more. */
  letGo({ request, token }: KnownLease): void {
    this.released.add(leaseText(request.resource, token));
  }

  /** Expects that the store holds each lease in which a client believes. */
  check(): void {
    for (const belief of this.beliefs) {
      if (this.isBelieved(belief) && this.storedLeftMs(belief) <= 0) {
        this.violations.push(`${text(belief)} is believed, and the store does not hold the lease`);
      }
    }
  }

  private isBelieved(belief: Belief): boolean {
    if (belief.isOver || this.released.has(text(belief))) return false;
    return belief.until > this.world.clock.now();
  }

  private storedLeftMs({ resource, token }: Belief): number {
    const isMeant = (request: ModelRequest): boolean =>
      request.state === 'held' && request.token === Number(token);
    const request = this.world.model(resource).requests.find(isMeant);
    return request === undefined ? 0 : (request.until - this.world.nowUs) / 1000;
  }
}

function text({ resource, token }: Belief): string {
  return leaseText(resource, token);
}

/** The tokens of different names may be equal. */
function leaseText({ name }: Resource, token: bigint): string {
  return `lease ${token} of ${name}`;
}
