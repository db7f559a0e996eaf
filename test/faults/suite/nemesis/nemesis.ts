import { allEnded } from '../../../support/eventually';
import { seeded } from '../../../support/random';
import type { Micros } from '../../../support/history';
import { monotonicMicros } from '../../../support/history-recorder';
import type { Stage } from '../stage';
import type { Effect, Touched } from './fault';
import { faultOf, type FaultName } from './faults';

/** A fault of a plan, its begin after the start of the round, and the seed of its random numbers. */
export interface Step {
  readonly atMs: number;
  readonly fault: FaultName;
  readonly seed: number;
}

/** A fault that was injected. */
export interface Injection {
  readonly fault: FaultName;
  readonly from: Micros;
  readonly to: Micros;
  /** The counted effects of the fault. Undefined: the fault found no server, client or node to affect. */
  readonly effect: Effect | undefined;
}

/** Injects the faults of a plan. Faults that use the same parts run one after the other. Other faults may overlap. */
export class Nemesis {
  readonly injections: Injection[] = [];
  private readonly busy = new Map<Touched, Promise<void>>();

  constructor(private readonly stage: Stage) {}

  /** Resolves when all faults are undone. Rejects with the first failure after the others are undone. */
  async run(steps: readonly Step[]): Promise<void> {
    const started = performance.now();
    const running: Promise<void>[] = [];
    for (const step of steps) {
      await this.stage.sleep(Math.max(0, step.atMs - (performance.now() - started)));
      const turn = this.takeTurn(step);
      turn.catch(() => undefined); // The failure is thrown below, after the end of the other faults.
      running.push(turn);
    }
    await allEnded(running);
  }

  private takeTurn(step: Step): Promise<void> {
    const { touches } = faultOf(step.fault);
    const before = Promise.all(touches.flatMap((touched) => this.busy.get(touched) ?? []));
    const turn = before.then(() => this.carryOut(step));
    const over = turn.catch(() => undefined);
    for (const touched of touches) this.busy.set(touched, over);
    return turn;
  }

  private async carryOut({ fault, seed }: Step): Promise<void> {
    const from = monotonicMicros();
    const effect = await faultOf(fault)
      .carryOut(this.stage, seeded(seed))
      .catch((cause: unknown) => {
        throw new Error(`the fault ${fault} failed: ${(cause as Error).message}`, { cause });
      });
    this.injections.push({ fault, from, to: monotonicMicros(), effect });
  }
}
