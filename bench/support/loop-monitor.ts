import { monitorEventLoopDelay, performance, type EventLoopUtilization } from 'node:perf_hooks';

/**
 * The event loop since the last time of asking: the time between two samples (ms), which is 1 ms and a little in an idle
 * server.
 */
export interface LoopDelay {
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
  /** The part of the time in which the event loop did not wait for events: 0 to 1. */
  readonly busy: number;
}

/** Samples the event loop's delay each millisecond. The sampling starts with the first time of asking. */
export class LoopMonitor {
  private readonly histogram = monitorEventLoopDelay({ resolution: 1 });
  private utilization: EventLoopUtilization = performance.eventLoopUtilization();

  read(): LoopDelay {
    const { histogram } = this;
    histogram.enable();
    const of = (percent: number) => histogram.percentile(percent) / 1e6;
    const busy = performance.eventLoopUtilization(this.utilization).utilization;
    const delay = { p50: of(50), p99: of(99), p999: of(99.9), max: histogram.max / 1e6, busy };
    histogram.reset();
    this.utilization = performance.eventLoopUtilization();
    return delay;
  }
}
