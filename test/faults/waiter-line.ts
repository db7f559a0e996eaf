import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Member } from './fleet';
import type { Held } from './held';
import type { EitherWanted } from '../support/clients/lease-client';
import { acquireWithRetries, holdWithRetries } from './retries';
import type { Scenario } from './scenario';

const TTL_MS = 3000;

/**
 * Waiters that queue for one name, one after the other. Each waiter holds its lease for a while and releases the lease.
 */
export class WaiterLine {
  /** The labels of the served waiters, in the order of their grants. */
  readonly order: string[] = [];
  private readonly turns: Promise<void>[] = [];
  private length = 0;

  constructor(
    private readonly scenario: Scenario,
    private readonly name: string,
    /** The server that waiters use when their own server is down. */
    private readonly fallback: Member,
    /** The time for which each waiter holds its lease (ms). */
    private readonly holdMs = 0,
  ) {}

  /** Adds a waiter, and resolves when the waiter is queued. */
  async join(
    label: string,
    member: Member,
    call: 'stream' | 'unary' = 'stream',
    options: Partial<EitherWanted> = {},
  ): Promise<void> {
    this.joinUnseen(label, member, call, options);
    await this.allQueued();
  }

  /** Adds a waiter without waiting for its place, because Redis may not answer now. */
  joinUnseen(
    label: string,
    member: Member,
    call: 'stream' | 'unary' = 'stream',
    options: Partial<EitherWanted> = {},
  ): void {
    this.length += 1;
    const client = this.scenario.client(label, member, this.scenario.observer.serviceOf(this.name));
    const request = { name: this.name, ttlMs: TTL_MS, requestId: randomUUID(), ...options };
    const granted: Promise<Held> =
      call === 'unary'
        ? acquireWithRetries(client, request, this.fallback)
        : holdWithRetries(client, request, this.fallback);
    const turn = granted.then(async (held) => {
      this.order.push(label);
      await sleep(this.holdMs);
      await client.release(held);
    });
    turn.catch(() => undefined); // `served` awaits this promise and reports a failure.
    this.turns.push(turn);
  }

  /** Counts a waiter that the caller starts and serves. */
  async joinedBy(start: () => unknown): Promise<void> {
    this.length += 1;
    start();
    await this.allQueued();
  }

  /** Resolves when all waiters of this line are queued. */
  async allQueued(): Promise<void> {
    await this.scenario.observer.waiterCount(this.name, this.length);
  }

  /** Resolves when all waiters were granted and have released. */
  async served(): Promise<void> {
    await Promise.all(this.turns);
  }
}
