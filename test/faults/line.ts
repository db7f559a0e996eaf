import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Member } from './fleet';
import type { Held } from './held';
import type { EitherWanted } from '../support/clients/either-client';
import { acquirePatiently, holdPatiently } from './patience';
import type { Scenario } from './scenario';

const TTL_MS = 3000;

/** Waiters of one name that come one after the other; each gives its lease back after a while. */
export class Line {
  /** Who was served, in that order. */
  readonly order: string[] = [];
  private readonly turns: Promise<void>[] = [];
  private length = 0;

  constructor(
    private readonly scene: Scenario,
    private readonly name: string,
    /** Where they go on when their server is gone. */
    private readonly fallback: Member,
    /** How long each keeps its lease. */
    private readonly workMs = 0,
  ) {}

  /** Resolves when it has its place at the end of the line. */
  async join(
    label: string,
    member: Member,
    how: 'stream' | 'unary' = 'stream',
    more: Partial<EitherWanted> = {},
  ): Promise<void> {
    this.come(label, member, how, more);
    await this.isWhole();
  }

  /** It comes when nobody can see whether it has got its place. */
  come(
    label: string,
    member: Member,
    how: 'stream' | 'unary' = 'stream',
    more: Partial<EitherWanted> = {},
  ): void {
    this.length += 1;
    const client = this.scene.client(label, member, this.scene.observer.serviceOf(this.name));
    const wanted = { name: this.name, ttlMs: TTL_MS, requestId: randomUUID(), ...more };
    const granted: Promise<Held> =
      how === 'unary'
        ? acquirePatiently(client, wanted, this.fallback)
        : holdPatiently(client, wanted, this.fallback);
    const turn = granted.then(async (held) => {
      this.order.push(label);
      await sleep(this.workMs);
      await client.release(held);
    });
    turn.catch(() => undefined); // `served` tells
    this.turns.push(turn);
  }

  /** Somebody else joined, who is not served here. */
  async joinedBy(whoever: () => unknown): Promise<void> {
    this.length += 1;
    whoever();
    await this.isWhole();
  }

  /** Waits until all who came and were not served are in the queue. */
  async isWhole(): Promise<void> {
    await this.scene.observer.waiterCount(this.name, this.length);
  }

  async served(): Promise<void> {
    await Promise.all(this.turns);
  }
}
