import { setTimeout as sleep } from 'node:timers/promises';
import { oneOf, type Random } from '../../support/random';
import type { FaultStarted } from '../../support/history';
import type { RedisProcess } from '../../support/processes/redis-process';
import type { Fleet, Member } from '../fleet';
import type { Scenario } from '../scenario';
import type { Clocks } from './clock-shim/clocks';
import type { ClientProcesses } from './client-processes';
import { FORGETTING } from './nemesis/forgetting';
import type { Topology } from './plan';
import type { StoreView } from './store-view';
import type { SuiteStore } from './stores/store';
import type { Resource } from './traffic/traffic';

export interface StageParts {
  readonly fleet: Fleet<SuiteStore>;
  readonly scenario: Scenario;
  readonly clients: ClientProcesses;
  readonly store: StoreView;
  readonly resources: readonly Resource[];
  /** The members with a proxy to the store, and the members with a proxy to their clients. */
  readonly withStoreProxy: readonly Member[];
  readonly withClientProxy: readonly Member[];
  readonly topology: Topology;
  /** The clocks of the round. Undefined if the platform cannot step clocks. */
  readonly clocks: Clocks | undefined;
  /** True if some faults of the round can make the store lose writes. */
  readonly mayForget: boolean;
  /** True if a fault of the round deletes the keys of one name. No server notices this loss. */
  readonly mayDeleteName: boolean;
  /** True if the store syncs every write before its reply, so that servers trust a restart. */
  readonly isDurable: boolean;
}

/** Longer than a replica takes to replace a silent master. */
const TAKE_OVER_MS = 4000;

/** The processes of a round and the connections between them, on which the nemesis acts. */
export class Stage {
  /** The members that a fault uses now. */
  private readonly taken = new Set<Member>();

  constructor(readonly parts: StageParts) {}

  get fleet(): Fleet<SuiteStore> {
    return this.parts.fleet;
  }

  get scenario(): Scenario {
    return this.parts.scenario;
  }

  get store(): StoreView {
    return this.parts.store;
  }

  get clients(): ClientProcesses {
    return this.parts.clients;
  }

  async master(random: Random): Promise<RedisProcess> {
    return oneOf(random, await this.fleet.redis.masters());
  }

  /**
   * The marks in the history for a Redis that is silent for a while or restarts. If a replica may replace that Redis,
   * the marks say that writes may be lost.
   */
  absence(marks: Partial<FaultStarted>): Partial<FaultStarted> {
    return this.parts.topology === 'one' ? marks : FORGETTING;
  }

  /** Waits for a possible take-over. A replica may replace a master even after the master has come back. */
  async agreed(): Promise<void> {
    if (this.parts.topology !== 'one') await this.sleep(TAKE_OVER_MS);
  }

  /** Runs `work` on a member that no other fault uses. Resolves to undefined if all members are in use. */
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

  /** Waits for `ms`, or until the signal is aborted. */
  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    await sleep(ms, undefined, signal && { signal }).catch((error: unknown) => {
      if (signal?.aborted !== true) throw error;
    });
  }
}
