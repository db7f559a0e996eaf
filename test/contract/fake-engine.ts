import type { Call } from '../../src/engine/call';
import type { AcquireRequest, HoldSink, HoldStart, ReleaseResult } from '../../src/engine/leases/requests';
import type { Lease, ResourceView, Service } from '../../src/engine/leases/lease';
import type { RemoveCommand, SetLimitCommand } from '../../src/engine/leases/permits-store';
import type { Quarantine, StoreHealth, StoreOperations } from '../../src/engine/store-health';
import type { PermitsEngine } from '../../src/transport/leases/lease-handlers';

export const someLease: Lease = {
  leaseId: 'AQABofidhlNzib9jjeCKBchQb0Pz352lH_sV8qyltsIvbmhlbGxv',
  name: 'hello',
  requestId: '01a1f89d-8653-7389-bf63-8de08a05c850',
  fencingToken: 1_795_172_435_542_416n,
  permitCount: 1,
  ttlMs: 30_000,
  expireOffsetMs: 29_986.9,
};

export const freeLock: ResourceView = {
  name: 'hello',
  limit: undefined,
  usedCount: 0,
  lastFencingToken: 0n,
  holderCount: 0,
  waiterCount: 0,
  holders: [],
  waiters: [],
};

/**
 * Stands in for the permits engine behind the transport: a test says what it answers, and sees what it was
 * asked.
 */
export class FakeEngine implements PermitsEngine {
  onAcquire: (call: Call, request: AcquireRequest) => Promise<Lease> = () => Promise.resolve(someLease);
  onRenew: (ttlMs: number | undefined) => Promise<Lease> = () => Promise.resolve(someLease);
  onRelease: () => Promise<ReleaseResult> = () => Promise.resolve({ released: true, lossCause: undefined });
  onHold: (call: Call, start: HoldStart, sink: HoldSink) => Promise<void> = () => Promise.resolve();
  onInspect: (name: string) => Promise<ResourceView> = () => Promise.resolve(freeLock);
  onSetLimit: (name: string, command: SetLimitCommand) => Promise<ResourceView> = (name, { limit }) =>
    Promise.resolve({ ...freeLock, name, limit });
  onRemove: (name: string, command: RemoveCommand) => Promise<void> = () => Promise.resolve();
  onDrain: () => Promise<void> = () => Promise.resolve();
  /** What came through to the engine: a refused request did not. */
  readonly asked: unknown[] = [];

  acquire(call: Call, service: Service, request: AcquireRequest): Promise<Lease> {
    this.asked.push({ verb: 'acquire', service, request });
    return this.onAcquire(call, request);
  }

  renew(_call: Call, service: Service, leaseId: string, ttlMs: number | undefined): Promise<Lease> {
    this.asked.push({ verb: 'renew', service, leaseId, ttlMs });
    return this.onRenew(ttlMs);
  }

  release(_call: Call, service: Service, leaseId: string): Promise<ReleaseResult> {
    this.asked.push({ verb: 'release', service, leaseId });
    return this.onRelease();
  }

  setLimit(name: string, command: SetLimitCommand): Promise<ResourceView> {
    this.asked.push({ verb: 'setLimit', name, ...command });
    return this.onSetLimit(name, command);
  }

  remove(name: string, command: RemoveCommand): Promise<void> {
    this.asked.push({ verb: 'remove', name, ...command });
    return this.onRemove(name, command);
  }

  hold(call: Call, service: Service, start: HoldStart, sink: HoldSink): Promise<void> {
    this.asked.push({ verb: 'hold', service, start });
    return this.onHold(call, start, sink);
  }

  inspect(service: Service, name: string): Promise<ResourceView> {
    this.asked.push({ verb: 'inspect', service, name });
    return this.onInspect(name);
  }

  drain(): Promise<void> {
    return this.onDrain();
  }
}

export class FakeStore implements StoreHealth, StoreOperations {
  quarantine: Quarantine | undefined;
  reachable = true;
  suitable = true;
  warnings: readonly string[] = [];
  private readonly listeners: (() => void)[] = [];

  onEndQuarantine: () => Promise<Quarantine | undefined> = () => Promise.resolve(this.quarantine);

  endQuarantine(): Promise<Quarantine | undefined> {
    return this.onEndQuarantine();
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** Grants pause from here on, or go on (undefined). */
  pause(quarantine: Quarantine | undefined): void {
    this.quarantine = quarantine;
    for (const listener of this.listeners) listener();
  }

  become(reachable: boolean): void {
    this.reachable = reachable;
    for (const listener of this.listeners) listener();
  }
}
