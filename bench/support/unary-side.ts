import type { Amount } from '../load/in-flight';
import type { UnaryTasks, UnaryWork } from '../load/unary';
import { LoadGroup } from './load-process';
import { closeStage, costOf, openStage, type FullCost, type ServerOptions, type Stage } from './stage';

const PROCESSES = 2;

/** A server with its Redis, and two processes that make unary calls. */
export class UnarySide {
  readonly group = new LoadGroup<UnaryTasks>('unary', PROCESSES);

  private constructor(
    readonly stage: Stage,
    private readonly ownsStage: boolean,
  ) {}

  /** `token`: the bearer token of all calls. */
  static async open(options?: ServerOptions, token?: string): Promise<UnarySide> {
    return new UnarySide(await openStage(options), true).connect(token);
  }

  /** Two more processes, with another token, on the stage of this side. Must be closed before this side. */
  beside(token?: string): Promise<UnarySide> {
    return new UnarySide(this.stage, false).connect(token);
  }

  /** Opens a side for this work. */
  static async during<T>(work: (side: UnarySide) => Promise<T>): Promise<T> {
    const side = await UnarySide.open();
    try {
      return await work(side);
    } finally {
      await side.close();
    }
  }

  /** Both processes together make `calls` calls, or pairs of calls, and keep `inFlight` calls in flight. */
  async all<Name extends keyof UnaryTasks>(
    task: Name,
    calls: number,
    inFlight: number,
    more: (index: number) => Omit<Parameters<UnaryTasks[Name]>[0], keyof Amount>,
  ): Promise<void> {
    await this.group.askEach(task, (index) => {
      const amount: Amount = { count: this.share(index, calls), inFlight: inFlight / PROCESSES };
      return { ...more(index), ...amount } as Parameters<UnaryTasks[Name]>[0];
    });
  }

  work(kind: UnaryWork, calls: number, inFlight: number): Promise<void> {
    return this.all('work', calls, inFlight, () => ({ kind }));
  }

  cost(kind: UnaryWork, calls: number, inFlight: number): Promise<FullCost> {
    return this.costOf(calls, () => this.work(kind, calls, inFlight));
  }

  /** The cost of each of the calls. */
  costOf(calls: number, work: () => Promise<void>): Promise<FullCost> {
    return costOf(this.stage, () => work().then(() => calls));
  }

  /** The share of a process. */
  share(index: number, count: number): number {
    return Math.floor((count + index) / PROCESSES);
  }

  async close(): Promise<void> {
    this.group.end();
    if (this.ownsStage) await closeStage(this.stage);
  }

  private async connect(token: string | undefined): Promise<this> {
    const address = this.stage.server.listen;
    await this.group.askEach('connect', (index) => ({ address, label: `bench-${index}`, token }));
    return this;
  }
}
