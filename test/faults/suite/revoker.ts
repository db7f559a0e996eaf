import { setTimeout as sleep } from 'node:timers/promises';
import type { Holder, Waiter } from '../../../generated/typescript/holdfast/v1/lease';
import { endingOf } from '../../support/clients/calls';
import { LockClient, type RevokeWanted, SemaphoreClient } from '../../support/clients/lease-client';
import type { Recorder } from '../../support/history-recorder';
import type { Fleet, FleetStore } from '../fleet';
import type { PlannedRevocation } from './plan';
import type { Resource } from './traffic/traffic';

/** An operator does not wait for a server that is down. */
const PATIENCE_MS = 2000;

/** The calls of an operator, which both services have. */
interface Revocable {
  get(name: string): Promise<{ readonly holders: Holder[]; readonly waiters: Waiter[] }>;
  revoke(wanted: RevokeWanted): Promise<{ readonly revokedCount: number }>;
  close(): void;
}

/**
 * An operator who revokes leases and waiters, also during faults. A failed revocation may have been carried out, so the
 * history records each attempt before the attempt.
 */
export class Revoker {
  private attempts = 0;

  constructor(
    private readonly fleet: Fleet<FleetStore>,
    private readonly resources: readonly Resource[],
    private readonly recorder: Recorder,
  ) {}

  async run(planned: readonly PlannedRevocation[]): Promise<void> {
    const started = performance.now();
    for (const one of planned) {
      await sleep(Math.max(0, one.atMs - (performance.now() - started)));
      const resource = this.resources.find(({ name }) => name.endsWith(one.label));
      if (resource === undefined) throw new Error(`this round has no resource with the label ${one.label}`);
      const client = this.client(resource);
      try {
        await this.revoke(client, resource.name, one);
      } catch (error) {
        endingOf(error); // Throws an error that is not a gRPC status.
      } finally {
        client.close();
      }
    }
  }

  private async revoke(client: Revocable, name: string, { what, force }: PlannedRevocation): Promise<void> {
    const { recorder } = this;
    if (what === 'all') {
      recorder.record({ type: 'revoke_asked', name, tokens: null, force });
      await client.revoke({ name, target: { $case: 'allHolders', value: true }, force });
      return;
    }
    const { holders, waiters } = await client.get(name);
    if (what === 'waiter') {
      const waiter = waiters.at(-1);
      if (waiter === undefined) return;
      const target = { $case: 'waiterPosition', value: waiter.position } as const;
      await client.revoke({ name, target, enqueueTime: waiter.enqueueTime });
      return;
    }
    const token = holders[0]?.fencingToken;
    if (token === undefined) return;
    recorder.record({ type: 'revoke_asked', name, tokens: [Number(token)], force });
    const { revokedCount } = await client.revoke({
      name,
      target: { $case: 'fencingToken', value: token },
      force,
    });
    // An offer has ended, and no client was told of its token.
    if (revokedCount === 1 && !force)
      recorder.record({ type: 'revoke_answered', name, token: Number(token) });
  }

  /** A client of the next server. */
  private client({ service }: Resource): Revocable {
    this.attempts += 1;
    const { address } = this.fleet.member(this.attempts % this.fleet.members.length);
    const options = { patienceMs: PATIENCE_MS };
    return service === 'lock' ? new LockClient(address, options) : new SemaphoreClient(address, options);
  }
}
