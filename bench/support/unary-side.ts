import type { UnaryTasks, UnaryWork } from '../load/unary';
import { cpuDuring } from './cpu';
import { LoadGroup } from './load-process';
import type { BenchServerOptions } from './server';
import { closeStage, openStage, type Stage } from './stage';

const PROCESSES = 2;

/** The mean cost of a call, or of a pair of calls (µs). */
export interface UnaryCost {
  readonly server: number;
  readonly redis: number;
  /** The time inside the script by Redis's own clock. */
  readonly script: number;
}

/** The mean of two costs, for a call that is measured before and after others. */
export function meanOf(first: UnaryCost, second: UnaryCost): UnaryCost {
  const mean = (part: keyof UnaryCost) => (first[part] + second[part]) / 2;
  return { server: mean('server'), redis: mean('redis'), script: mean('script') };
}

/** A server with its Redis, and two processes that make unary calls. */
export class UnarySide {
  private constructor(
    private readonly stage: Stage,
    private readonly group: LoadGroup<UnaryTasks>,
  ) {}

  static async open(options?: BenchServerOptions): Promise<UnarySide> {
    const stage = await openStage(options);
    const side = new UnarySide(stage, new LoadGroup<UnaryTasks>('unary', PROCESSES));
    try {
      await side.group.askEach('connect', (index) => ({
        address: stage.server.listen,
        label: `bench-${index}`,
      }));
      return side;
    } catch (error) {
      await side.close();
      throw error;
    }
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

  /** Both processes together make `calls` calls, and keep `inFlight` calls in flight. */
  async cost(kind: UnaryWork, calls: number, inFlight: number): Promise<UnaryCost> {
    const { redis, server } = this.stage;
    const amount = { count: calls / PROCESSES, inFlight: inFlight / PROCESSES };
    const before = await redis.commandCounts();
    const { spentMs } = await cpuDuring([server.pid, redis.pid], () =>
      this.group.ask('work', { kind, ...amount }),
    );
    const after = await redis.commandCounts();
    const [serverMs = NaN, redisMs = NaN] = spentMs;
    return {
      server: (serverMs * 1000) / calls,
      redis: (redisMs * 1000) / calls,
      script: (after.scriptMicroseconds - before.scriptMicroseconds) / calls,
    };
  }

  async close(): Promise<void> {
    this.group.end();
    await closeStage(this.stage);
  }
}
