import { seeded } from '../../../support/random';
import type { Micros } from '../../../support/history';
import { monotonicMicros } from '../../../support/history-recorder';
import type { Stage } from '../stage';
import type { Did, Touched } from './fault';
import { faultOf, type FaultName } from './faults';

/** One fault of a plan: when it begins, counted from the round's beginning, and what it draws its numbers from. */
export interface Step {
  readonly atMs: number;
  readonly fault: FaultName;
  readonly seed: number;
}

/** A fault that was carried out. */
export interface Deed {
  readonly fault: FaultName;
  readonly from: Micros;
  readonly to: Micros;
  /** Undefined: there was nothing to do it to. */
  readonly did: Did | undefined;
}

/** Carries out a plan's faults. Those that touch the same thing wait for each other, all others may meet. */
export class Nemesis {
  readonly deeds: Deed[] = [];
  private readonly busy = new Map<Touched, Promise<void>>();

  constructor(private readonly stage: Stage) {}

  /** Resolves when all are undone; rejects with what one failed with, once the others are undone. */
  async run(steps: readonly Step[]): Promise<void> {
    const started = performance.now();
    const running: Promise<void>[] = [];
    for (const step of steps) {
      await this.stage.sleep(Math.max(0, step.atMs - (performance.now() - started)));
      const turn = this.takeTurn(step);
      turn.catch(() => undefined); // told below, with the others
      running.push(turn);
    }
    const outcomes = await Promise.allSettled(running);
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
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
    const did = await faultOf(fault)
      .carryOut(this.stage, seeded(seed))
      .catch((cause: unknown) => {
        throw new Error(`${fault} could not be carried out: ${(cause as Error).message}`, { cause });
      });
    this.deeds.push({ fault, from, to: monotonicMicros(), did });
  }
}
