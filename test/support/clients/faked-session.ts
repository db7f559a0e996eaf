import { LossCause } from '../../../generated/typescript/holdfast/v1/lease';
import type { SessionEndCause } from '../../../generated/typescript/holdfast/v1/session_service';
import { duration } from '../../../clients/typescript';
import type { Lease } from '../../../clients/typescript/sessions/lease';
import { SessionClient, type SessionSettings } from '../../../clients/typescript/sessions/session-client';
import { FakeWires, type FakeWire } from './fake-wires';
import { lock } from './sdk-session';

/** Lets time pass on the fake timers of jest. */
export const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);

export const released = {
  $case: 'released',
  value: { released: true, lossCause: LossCause.LOSS_CAUSE_UNSPECIFIED },
} as const;
export const ended = (cause: SessionEndCause) => ({ $case: 'ended', value: { cause } }) as const;

/** A client with a session that has started. */
export async function opened(options: Partial<SessionSettings> = {}) {
  const wires = new FakeWires();
  const client = new SessionClient({
    addresses: ['a', 'b'],
    openWire: wires.open,
    holderId: 'worker',
    ...options,
  });
  await pass(0);
  wires.last.start();
  return { client, wires, wire: wires.last };
}

/** A client that holds leases in its first session. */
export async function holding(
  leaseIds: readonly string[] = ['lease'],
  ttlMs = 30_000,
  options: Partial<SessionSettings> = {},
) {
  const { client, wires, wire } = await opened(options);
  const leases: Lease[] = [];
  for (const leaseId of leaseIds) {
    const granted = lock(client, leaseId, { ttlMs });
    await pass(0);
    wire.grant(wire.id('acquireLock', -1), leaseId, { ttl: duration(ttlMs), expireOffset: duration(ttlMs) });
    leases.push(await granted);
  }
  return { client, wires, wire, leases, lease: leases[0] as Lease };
}

/** The next session after a break, before its first response. */
export async function afterBreak(wires: FakeWires, reason?: string): Promise<FakeWire> {
  const count = wires.all.length;
  wires.last.end(reason);
  await pass(1000);
  expect(wires.all.length).toBe(count + 1);
  return wires.last;
}
