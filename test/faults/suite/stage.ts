import { setTimeout as sleep } from 'node:timers/promises';
import { oneOf, type Random } from '../../../bench/support/random';
import type { FaultStarted } from '../../support/history';
import type { RedisProcess } from '../../support/processes/redis-process';
import type { Fleet, Member } from '../fleet';
import type { Scenario } from '../scenario';
import type { Clocks } from './clock-shim/clocks';
import type { Crowd } from './crowd';
import { FORGETTING } from './nemesis/forgetting';
import type { Topology } from './plan';
import type { StoreView } from './store-view';
import type { SuiteStore } from './stores/store';
import type { Wanted } from './traffic/traffic';

export interface StageParts {
  readonly fleet: Fleet<SuiteStore>;
  readonly scene: Scenario;
  readonly crowd: Crowd;
  readonly store: StoreView;
  readonly wanted: readonly Wanted[];
  /** Of the members that have a proxy between them and the store, or between them and their clients. */
  readonly withStoreProxy: readonly Member[];
  readonly withClientProxy: readonly Member[];
  readonly topology: Topology;
  /** Undefined where nobody's clock can be stepped. */
  readonly clocks: Clocks | undefined;
  /** Among the faults of the round are some that make the store forget. */
  readonly mayForget: boolean;
  /** The store keeps every write before it acknowledges it, and its servers know that. */
  readonly isDurable: boolean;
}

const TAKE_OVER_MS = 4000;

/** What the nemesis acts on: the processes of a round and the ways between them. */
export class Stage {
  /** Members that a fault is at. */
  private readonly taken = new Set<Member>();

  constructor(readonly parts: StageParts) {}

  get fleet(): Fleet<SuiteStore> {
    return this.parts.fleet;
  }

  get scene(): Scenario {
    return this.parts.scene;
  }

  get store(): StoreView {
    return this.parts.store;
  }

  get crowd(): Crowd {
    return this.parts.crowd;
  }

  /** One of those that take writes now. */
  async master(random: Random): Promise<RedisProcess> {
    return oneOf(random, await this.fleet.redis.masters());
  }

  /**
   * What the history says of a Redis that is silent for a while, or comes back: where another one may take its place,
   * writes may be lost; else nothing is.
   */
  absence(marks: Partial<FaultStarted>): Partial<FaultStarted> {
    return this.parts.topology === 'one' ? marks : FORGETTING;
  }

  /** A replica may take over from a store that was silent, and does so when that is already back. */
  async agreed(): Promise<void> {
    if (this.parts.topology !== 'one') await this.sleep(TAKE_OVER_MS);
  }

  /** Does something to a member that no other fault is at; undefined: all are taken, and nothing was done. */
  async withMember<T>(
    random: Random,
    work: (member: Member) => Promise<T>,
    candidates: readonly Member[] = this.fleet.members,
  ): Promise<T | undefined> {
    const free = candidates.filter((member) => !this.taken.has(member));
    if (free.length === 0) return undefined;
    const member = oneOf(random, free);
    this.taken.add(member);
    try {
      return await work(member);
    } finally {
      this.taken.delete(member);
    }
  }

  /** Resolves also when it is called off. */
  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    await sleep(ms, undefined, signal && { signal }).catch((error: unknown) => {
      if (signal?.aborted !== true) throw error;
    });
  }
}
