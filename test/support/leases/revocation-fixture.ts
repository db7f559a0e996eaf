import type { Resource } from '../../../src/leases/lease';
import type { RevokeCursor, RevokeTarget } from '../../../src/leases/lease-store';
import { LeaseFixture } from './lease-fixture';
import type { Requester, RequesterOptions } from './lease-requester';
import { is } from '../reply-kinds';

export const ALL: RevokeTarget = { kind: 'all-holders' };
export const REVOKED = { kind: 'finished', cause: 'revoked' };
/** The reply of a step that has found nothing, and is the last step. */
export const NOTHING = { kind: 'revoked', count: 0, latestEndMs: undefined, next: undefined };

interface StepOptions {
  readonly force?: boolean;
  readonly after?: RevokeCursor | undefined;
  /** The server that sends the step. */
  readonly by?: string;
}

/** Resources with holders, and steps of revocations. */
export class RevocationFixture {
  private constructor(readonly permits: LeaseFixture) {}

  static async open(): Promise<RevocationFixture> {
    return new RevocationFixture(await LeaseFixture.open({ frozenClock: true, commandTimeoutMs: 20_000 }));
  }

  close(): Promise<void> {
    return this.permits.close();
  }

  async step(
    resource: Resource,
    target: RevokeTarget,
    { force = false, after, by = 's3' }: StepOptions = {},
  ) {
    const { store } = await this.permits.server(by);
    return is('revoked', await store.revoke(resource, { target, force, after }));
  }

  /** Runs all steps. Returns the number of revoked leases of each step, and the latest end. */
  async revoke(
    resource: Resource,
    target: RevokeTarget,
    force = false,
    between: (next: RevokeCursor) => Promise<RevokeCursor | void> = async () => {},
  ) {
    const counts: number[] = [];
    let latestEndMs: number | undefined;
    let after: RevokeCursor | undefined;
    do {
      const reply = await this.step(resource, target, { force, after });
      counts.push(reply.count);
      if (reply.latestEndMs !== undefined) latestEndMs = Math.max(latestEndMs ?? 0, reply.latestEndMs);
      after = reply.next;
      if (after) after = (await between(after)) ?? after;
    } while (after);
    return { counts, latestEndMs };
  }

  /** A lock that alice holds for 10 s. */
  async held(options: RequesterOptions = {}) {
    const lock = this.permits.resource();
    const alice = await this.permits.request('s1', lock, { ttlMs: 10_000, ...options });
    const { fencingToken } = is('granted', await alice.try());
    return { lock, alice, byToken: { kind: 'token', fencingToken } as const };
  }

  /** A semaphore with holders of leases of 20 s. */
  async holders(count: number, options: RequesterOptions = {}) {
    const semaphore = this.permits.resource('semaphore');
    const all = await this.permits.requests(count, 's1', semaphore, {
      initialLimit: 20_000,
      ttlMs: 20_000,
      ...options,
    });
    for (const one of all) is('granted', await one.try());
    return { semaphore, all };
  }

  async recordOf({ resource, requestId }: Requester) {
    return (await this.permits.stored(resource)).records[requestId];
  }

  /** The end of a lease of `held` (ms). */
  async endMs(): Promise<number> {
    return Number(await this.permits.now()) / 1000 + 10_000;
  }
}
