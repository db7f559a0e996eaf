import type { LeaseEnd } from '../../../src/leases/lease';
import type { HoldStart, LeaseOwner, OwnedLease, ReleaseResult } from '../../../src/leases/lease-requests';
import type { SessionCall, SessionLeases } from '../../../src/leases/life';
import { ALICE } from '../../support/fake-call';
import { settled } from '../../support/manual-clock';
import { someLease } from '../fake-engines';

/** A command that the engine of leases has got from a session. */
export interface Taken {
  readonly call: SessionCall;
  readonly start: HoldStart;
  readonly owner: LeaseOwner;
  /** The command gets its lease. */
  grant(end: LeaseEnd): Promise<void>;
  fail(error: Error): Promise<void>;
}

/** An engine of leases that answers when the test says so. Releases and updates are answered at once. */
export class FakeSessionLeases implements SessionLeases {
  /** The acquires and attaches, in the order in which they began. */
  readonly takes: Taken[] = [];
  releaseCount = 0;
  /** The leases that sessions have left to their ends. */
  abandonedCount = 0;
  released: Promise<ReleaseResult> = Promise.resolve({ released: true, lossCause: undefined });

  take(call: SessionCall, _service: unknown, start: HoldStart, owner: LeaseOwner): Promise<void> {
    return new Promise((resolve, reject) => {
      const fail = (error: Error): Promise<void> => {
        reject(error);
        return settled();
      };
      const grant = (end: LeaseEnd): Promise<void> => {
        owner.send({ kind: 'granted', lease: { ...someLease, end } });
        owner.hold(this.lease(start.kind === 'acquire' ? start.request.name : 'attached'));
        resolve();
        return settled();
      };
      this.takes.push({ call, start, owner, grant, fail });
    });
  }

  releaseLease(): Promise<ReleaseResult> {
    this.releaseCount += 1;
    return this.released;
  }

  renewLease(): Promise<unknown> {
    return Promise.resolve();
  }

  private lease(name: string): OwnedLease {
    return {
      id: { resource: { service: 'lock', name }, requestId: ALICE, secret: 'secret' },
      lastEnd: 0,
      abandon: () => void (this.abandonedCount += 1),
      revokeHeld: () => undefined,
    };
  }
}
