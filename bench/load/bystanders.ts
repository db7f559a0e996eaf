/** The clients that an attack must not disturb: streams that hold leases, and a client of modest demands. */
import { Bystanders, type BystanderOptions } from '../../test/support/attacks/bystanders';
import { InnocentClient, type InnocentOptions } from '../../test/support/attacks/innocent-client';
import { monotonicMs } from '../support/monotonic';
import { quantile } from '../support/statistics';
import { serveTasks } from './serve-tasks';

/** From this process's `performance.now()` to the machine's monotonic clock. */
const CLOCK_OFFSET_MS = monotonicMs() - performance.now();

let bystanders: Bystanders | undefined;
let innocent: InnocentClient | undefined;

export interface Latencies {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** Calls that did not end with OK, by their outcome. */
  readonly failures: Readonly<Record<string, number>>;
}

function started(): { bystanders: Bystanders; innocent: InnocentClient } {
  if (bystanders === undefined || innocent === undefined) throw new Error('call start first');
  return { bystanders, innocent };
}

const tasks = {
  start: async (options: { bystanders: BystanderOptions; innocent: InnocentOptions }) => {
    bystanders = await Bystanders.open(options.bystanders);
    innocent = new InnocentClient(options.innocent);
  },
  /** The least time that a lease had left at a renewal between two times of the machine's monotonic clock (ms). */
  leastLeft: ({ from, to }: { from: number; to: number }) =>
    Promise.resolve(started().bystanders.leastLeftMs(from - CLOCK_OFFSET_MS, to - CLOCK_OFFSET_MS)),
  events: () => Promise.resolve(started().bystanders.counts),
  /** Starts no more calls of the innocent client. Resolves when its calls have their answers. */
  stop: () => started().innocent.stop(),
  /** The latencies of the calls that started between two times of the machine's monotonic clock. */
  latencies: ({ from, to }: { from: number; to: number }): Promise<Latencies> => {
    const samples = started().innocent.between(from - CLOCK_OFFSET_MS, to - CLOCK_OFFSET_MS);
    const times = samples.map(({ ms }) => ms);
    const failures: Record<string, number> = {};
    for (const { outcome = 'no answer' } of samples) {
      if (outcome !== 'OK') failures[outcome] = (failures[outcome] ?? 0) + 1;
    }
    const [p50, p99, max] = [0.5, 0.99, 1].map((share) => quantile(times, share)) as [number, number, number];
    return Promise.resolve({ count: times.length, p50, p99, max, failures });
  },
};

export type BystanderTasks = typeof tasks;

serveTasks(tasks);
