import { hasTakenOver, type NodeReport } from '../node/report';
import type { ClockSample } from '../node/server-clock';
import { LEASE_LAYOUT } from '../buckets';

/** The largest error of the uptime that Redis reports, in whole seconds by two clocks. */
const UPTIME_SLACK_MS = 2000;
/**
 * The maximum age of a node's report (ms): the time of three probes. While this process is paused, another Redis may
 * become master, and the connection to the old master may stay open. So an old report may be wrong.
 */
export const REPORT_VALID_MS = 3000;
/** Stands for an unknown run: no run id has this value. */
const UNKNOWN_RUN = 'none';

/** The facts about the run of Redis behind a connection, kept when the connection is replaced. */
export class KnownRun {
  /**
   * The layout of leases, and the run of the present connection, or of the last connection: `L2:RUN`. So a server with
   * another layout takes the epochs of this server for epochs of another run.
   */
  id: string | undefined;
  /** When all epochs of the node were first known to belong to this run (ms, monotonic clock); Infinity: not yet. */
  settledSince = Infinity;
  durable = false;
  overlapMs = 0;
  /** The run that this server knew before; '': this server knew no run. */
  previousId = '';
  private wasAlwaysDurable = false;
  /** When this run answered last. */
  private answeredAt = -Infinity;
  /** When the question of the last report was sent. The answer may have been read much later. */
  private askedAt = -Infinity;

  /** @param mayBeNew The operator asserts that a bucket without an epoch was never used. */
  constructor(public mayBeNew: boolean) {}

  /** `weaker`: a restart of this run may lose more than before, or overlap longer. */
  update(report: NodeReport, sample: ClockSample): 'new run' | 'weaker' | 'same' {
    const { durable, overlapMs } = report;
    const runId = report.runId === undefined ? undefined : `L${LEASE_LAYOUT}:${report.runId}`;
    const isWeaker = (this.durable && !durable) || overlapMs > this.overlapMs;
    const isNewRun = runId !== this.id;
    this.durable = durable;
    this.overlapMs = overlapMs;
    if (isNewRun) this.replace(runId, report.uptimeSeconds, sample);
    this.wasAlwaysDurable &&= durable;
    if (runId !== undefined) {
      this.answeredAt = sample.receivedAt;
      this.askedAt = sample.sentAt;
    }
    if (isNewRun) return 'new run';
    return isWeaker ? 'weaker' : 'same';
  }

  /** True if the last report is recent enough for grants. */
  isCurrent(now: number): boolean {
    return now - this.askedAt <= REPORT_VALID_MS;
  }

  /** The caller reports that all epochs of the node belong to this run. */
  settle(now: number): void {
    this.previousId = this.id ?? '';
    this.mayBeNew = false;
    if (this.settledSince === Infinity) this.settledSince = now;
  }

  private replace(runId: string | undefined, uptimeSeconds: number, sample: ClockSample): void {
    if (this.id !== undefined) {
      // A run that existed at the same time as the last run did not start with the last run's data.
      const startedAt = sample.receivedAt - (uptimeSeconds + 1) * 1000;
      const ranBeside = startedAt + UPTIME_SLACK_MS < this.answeredAt;
      // If the last run was not always durable, its file on disk may lack its last grants.
      this.previousId = ranBeside || !this.wasAlwaysDurable ? UNKNOWN_RUN : this.id;
      this.mayBeNew = false;
    }
    if (runId !== undefined && !mayBeRestart(runId, this.id)) this.previousId = UNKNOWN_RUN;
    this.id = runId;
    this.settledSince = Infinity;
    this.wasAlwaysDurable = true;
  }
}

/** False for a run that took over or was a replica for a time: its data may lack writes of the last run. */
function mayBeRestart(runId: string, lastRunId: string | undefined): boolean {
  return !hasTakenOver(runId) && !lastRunId?.startsWith(runId);
}
