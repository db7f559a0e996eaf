import { setTimeout as sleep } from 'node:timers/promises';
import type { Fleet, FleetStore } from '../fleet';
import { CallEnded } from '../held';
import type { Scenario } from '../scenario';
import type { LimitMove } from './plan';
import type { Wanted } from './traffic/traffic';

/** An operator who sets limits as planned, one after the other, whatever happens around. */
export class LimitMover {
  constructor(
    private readonly scene: Scenario,
    private readonly fleet: Fleet<FleetStore>,
    private readonly wanted: readonly Wanted[],
  ) {}

  async run(moves: readonly LimitMove[]): Promise<void> {
    const started = performance.now();
    const operator = this.scene.operator('limits', this.fleet.member(1));
    for (const { atMs, label, limit } of moves) {
      await sleep(Math.max(0, atMs - (performance.now() - started)));
      const name = this.wanted.find((one) => one.name.endsWith(label))?.name;
      if (name === undefined) throw new Error(`no resource of this round is called ${label}`);
      await operator.setLimit(name, limit).catch(refused);
    }
  }
}

/** That nothing was changed, or that nobody knows, is in the history. */
function refused(error: unknown): void {
  if (!(error instanceof CallEnded)) throw error;
}
