/** The clients that an attack must not disturb: streams that hold leases, and a client of modest demands. */
import {
  type BystanderOptions,
  Bystanders,
  InnocentClient,
  type InnocentOptions,
} from '../../test/support/attacks/bystanders';
import { monotonicMs } from '../support/monotonic';
import { timesOf, type Times } from '../support/statistics';
import { serveTasks } from './serve-tasks';

/** From this process's `performance.now()` to the machine's monotonic clock. */
const CLOCK_OFFSET_MS = monotonicMs() - performance.now();

let bystanders: Bystanders | undefined;
let innocent: InnocentClient | undefined;

export interface Latencies extends Times {
  readonly count: number;
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
    return Promise.resolve({ count: times.length, failures, ...timesOf(times) });
  },
};

export type BystanderTasks = typeof tasks;

serveTasks(tasks);
