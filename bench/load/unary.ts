/** Unary calls of LockService, SemaphoreService and of the empty method, with a fixed number of calls in flight. */
import { BenchClient } from './bench-client';
import { inFlight, type Amount } from './in-flight';
import { LockClient } from '../../test/support/clients/lock-client';
import { SemaphoreClient } from '../../test/support/clients/semaphore-client';
import { releaseHeld } from './release-held';
import { serveTasks } from './serve-tasks';

const TTL_MS = 120_000;
const PERMITS = 10;

class UnaryLoad {
  private readonly locks: LockClient;
  private readonly semaphores: SemaphoreClient;
  private readonly bench: BenchClient;
  private leaseIds: string[] = [];

  constructor(
    address: string,
    /** The prefix of this process's names, so that processes use different locks. */
    private readonly label: string,
  ) {
    this.locks = new LockClient(address);
    this.semaphores = new SemaphoreClient(address);
    this.bench = new BenchClient(address);
  }

  async empty(amount: Amount): Promise<void> {
    await inFlight(amount, () => this.bench.empty());
  }

  /** Acquires a different lock with each call. Keeps the leases for `renew` and `release`. */
  async acquire(amount: Amount): Promise<void> {
    this.leaseIds = [];
    await inFlight(amount, async (index) => {
      this.leaseIds[index] = (await this.acquireLock(this.name(index))).leaseId;
    });
  }

  async renew(amount: Amount): Promise<void> {
    await inFlight(amount, async (index) => void (await this.locks.renew(this.leaseId(index))));
  }

  async get(amount: Amount): Promise<void> {
    await inFlight(amount, async (index) => void (await this.locks.get(this.name(index))));
  }

  async release(amount: Amount): Promise<void> {
    await inFlight(amount, (index) => releaseHeld(this.locks, this.leaseId(index)));
  }

  /** Acquires and releases in turn. Each client has its own lock. */
  async pairs(amount: Amount): Promise<void> {
    await inFlight(amount, async (_, client) => {
      const { leaseId } = await this.acquireLock(this.name(client));
      await releaseHeld(this.locks, leaseId);
    });
  }

  /** Does the same as `pairs` with a permit of a semaphore. */
  async permitPairs(amount: Amount): Promise<void> {
    await inFlight(amount, async (_, client) => {
      const wanted = { name: this.name(client), initialLimit: PERMITS, ttlMs: TTL_MS, waitMs: 0 };
      const { leaseId } = await this.semaphores.acquire(wanted);
      await releaseHeld(this.semaphores, leaseId);
    });
  }

  private acquireLock(name: string) {
    return this.locks.acquire({ name, ttlMs: TTL_MS, waitMs: 0 });
  }

  private name(index: number): string {
    return `${this.label}-${index}`;
  }

  private leaseId(index: number): string {
    const id = this.leaseIds[index];
    if (id === undefined) throw new Error('call acquire first');
    return id;
  }
}

let load: UnaryLoad | undefined;

export type UnaryWork = 'empty' | 'acquire' | 'renew' | 'get' | 'release' | 'pairs' | 'permitPairs';

const tasks = {
  connect: async ({ address, label }: { address: string; label: string }) => {
    load = new UnaryLoad(address, label);
    await load.empty({ count: 1, inFlight: 1 });
  },
  work: async ({ kind, ...amount }: Amount & { kind: UnaryWork }) => {
    if (load === undefined) throw new Error('call connect first');
    await load[kind](amount);
  },
};

export type UnaryTasks = typeof tasks;

serveTasks(tasks);
