import fc from 'fast-check';
import type { RevokeTarget } from '../../src/leases/lease-store';
import { ARENAS, compare, RandomStep, SLOTS, type Arena } from './lease-arena';
import type { LeaseModel } from './lease-model';
import type { Requester } from './lease-requester';
import type { TestServer } from './lease-server';

/** The revocations of random histories. */

const arena = fc.nat(ARENAS - 1);
const slot = fc.nat(SLOTS - 1);
const server = fc.nat(1);

/** The token of the request's last grant, which the call may not know. */
export const tokenOf = (model: LeaseModel, call: Requester) =>
  BigInt(model.requests.find(({ id }) => id === call.requestId)?.token ?? 1);

export const revokeHolders = fc
  .record({ arena, server, slot, force: fc.boolean(), what: fc.constantFrom('token', 'lease', 'all') })
  .map((drawn) =>
    revokeStep('revoke holders', drawn, ({ model, slots }) => {
      if (drawn.what === 'all') return { kind: 'all-holders' };
      const call = slots[drawn.slot]?.at(-1);
      const fencingToken = call ? tokenOf(model, call) : 1n;
      if (drawn.what === 'token' || !call) return { kind: 'token', fencingToken };
      return { kind: 'lease', requestId: call.requestId, fencingToken };
    }),
  );

export const revokeWaiter = fc
  .record({ arena, server, position: fc.integer({ min: 1, max: 4 }), shift: fc.integer({ min: 0, max: 2 }) })
  .map((drawn) =>
    revokeStep('revoke waiter', { ...drawn, force: false }, ({ model }) => {
      const waiter = model.queue()[drawn.position - 1];
      const position = drawn.position + drawn.shift - 1;
      return {
        kind: 'waiter',
        position: Math.max(1, position),
        enqueueTimeUs: BigInt(waiter?.queuedAt ?? 0),
      };
    }),
  );

/** A revocation of a random lease or waiter, as an operator sees them before the command. */
function revokeStep(
  text: string,
  drawn: { readonly arena: number; readonly server: number; readonly force: boolean },
  targetIn: (at: Arena) => RevokeTarget,
): RandomStep {
  return new RandomStep(`${text} ${JSON.stringify(drawn)}`, drawn.arena, async (at, world) => {
    const by = world.servers[drawn.server] as TestServer;
    const command = { target: targetIn(at), force: drawn.force, after: undefined };
    await compare(
      world,
      at,
      by,
      () => by.store.revoke(at.resource, command),
      (model, now) => model.revoke(by.id, now, command),
    );
  });
}
