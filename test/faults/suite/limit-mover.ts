import { setTimeout as sleep } from 'node:timers/promises';
import { keyOf } from '../../support/leases/lease-stored';
import type { Fleet, FleetStore } from '../fleet';
import { CallEnded } from '../held';
import { PREFIX } from '../observer';
import type { Scenario } from '../scenario';
import type { LimitMove } from './plan';
import type { Resource } from './traffic/traffic';

const RESTORE_EVERY_MS = 1000;

/** Operators that set the planned limits one after the other, also during faults. */
export class LimitMover {
  constructor(
    private readonly scenario: Scenario,
    private readonly fleet: Fleet<FleetStore>,
    private readonly resources: readonly Resource[],
  ) {}

  async run(moves: readonly LimitMove[]): Promise<void> {
    const over = new AbortController();
    const restoring = this.restore(moves, over.signal);
    restoring.catch(() => undefined); // Its failure is thrown at the end.
    try {
      await this.move(moves);
    } finally {
      over.abort();
      await restoring;
    }
  }

  private async move(moves: readonly LimitMove[]): Promise<void> {
    const started = performance.now();
    const operator = this.scenario.operator('limits', this.fleet.member(1));
    for (const { atMs, label, limit } of moves) {
      await sleep(Math.max(0, atMs - (performance.now() - started)));
      await operator.setLimit(this.named(label), limit).catch(refused);
    }
  }

  /** Sets lost limits again. A semaphore without a limit cannot be used for the rest of the round. */
  private async restore(moves: readonly LimitMove[], signal: AbortSignal): Promise<void> {
    const operator = this.scenario.operator('lost limits', this.fleet.member(0));
    const usual = new Map(moves.map(({ label, limit }) => [this.named(label), limit]));
    while (!signal.aborted) {
      for (const [name, limit] of usual) {
        const key = keyOf(PREFIX, { service: 'semaphore', name }, 'limit');
        // A read that fails during a fault is repeated in the next turn.
        const found = await this.fleet.redis.command('EXISTS', key).catch(() => undefined);
        if (Number(found ?? 1) > 0 || signal.aborted) continue;
        await operator.setLimit(name, limit).catch(refused);
      }
      await sleep(RESTORE_EVERY_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  private named(label: string): string {
    const name = this.resources.find((resource) => resource.name.endsWith(label))?.name;
    if (name === undefined) throw new Error(`this round has no resource with the label ${label}`);
    return name;
  }
}

/** Ignores a failed change, because the history already records the failure. */
function refused(error: unknown): void {
  if (!(error instanceof CallEnded)) throw error;
}
