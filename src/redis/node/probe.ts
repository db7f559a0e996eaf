import type { Redis } from 'ioredis';
import type { Clock } from '../../base/clock';
import { Rounds } from '../../flow/rerun';
import { nextTurn } from '../../flow/turns';
import { failureClassOf, isReplyError } from '../failure-class';
import {
  askClock,
  askInfo,
  askMissing,
  askSettings,
  type MissingRights,
  type NeededRights,
  type NodeAnswers,
  type Topology,
} from './node-answers';
import { type NodeReport, nodeReportOf } from './report';
import type { ClockSample } from './server-clock';

export interface ProbeListener {
  /** Called before any other command is sent over a new connection, and then about once a second. */
  onReport(report: NodeReport, sample: ClockSample): void;
}

export interface NodeProbeOptions {
  /** How the Redis nodes work together (Sentinel or Cluster). Undefined: a single Redis. */
  readonly topology?: Topology;
  readonly quarantineMs?: number;
  /** Undefined: the rights of the Redis user are not checked. */
  readonly rights?: NeededRights | undefined;
  readonly clock: Clock;
  readonly onError: (error: Error) => void;
  readonly listener?: ProbeListener | undefined;
  /** Called when the Redis of a new connection has named its run. */
  readonly onIdentified: () => void;
  /** Called when the node begins or stops answering, and when its warnings change. */
  readonly onChange: () => void;
}

const PROBE_INTERVAL_MS = 1000;
/** The pause before a busy Redis is asked for its run again. */
const IDENTIFY_PAUSE_MS = 50;

/** Finds out which run of Redis a connection leads to, its settings, its clock, and whether the node answers. */
export class NodeProbe {
  suitable = true;
  warnings: readonly string[] = [];
  answering = false;
  report: NodeReport = nodeReportOf({ info: new Map(), settings: undefined });
  /** True once the Redis of this connection has named its run. No command is sent earlier. */
  identified = false;
  private answers: NodeAnswers = { info: new Map(), settings: undefined };
  private readonly rounds: Rounds;
  private closed = false;

  constructor(
    private readonly client: Redis,
    private readonly options: NodeProbeOptions,
  ) {
    const { clock, onError } = options;
    this.rounds = new Rounds({ clock, pauseMs: PROBE_INTERVAL_MS, onError }, () => this.look());
  }

  get wasMaster(): boolean {
    return this.answers.info.get('role') === 'master';
  }

  connected(): void {
    this.identify(this.client.stream);
  }

  disconnected(): void {
    this.identified = false;
  }

  observe(answering: boolean): void {
    if (this.answering === answering) return;
    this.answering = answering;
    this.options.onChange();
  }

  close(): void {
    this.closed = true;
    this.rounds.end();
  }

  private async look(): Promise<void> {
    if (this.client.status !== 'ready') return;
    if (this.identified && this.options.listener) this.probe().catch(this.options.onError);
    await this.ping();
  }

  /** A paused Redis (SIGSTOP) keeps its connections: only an unanswered PING shows the pause. */
  private async ping(): Promise<void> {
    const { stream } = this.client;
    const bytesBefore = stream.bytesRead;
    try {
      await this.client.ping();
      this.observe(true);
    } catch (error) {
      // After a pause of this process the timeout comes first, and then the reply that arrived during the pause.
      await nextTurn();
      if (this.isCurrent(stream)) this.onPingFailed(error, stream.bytesRead > bytesBefore);
    }
  }

  private onPingFailed(error: unknown, hasSentBytes: boolean): void {
    // The connection has just ended, and 'close' comes next. The ping was never sent, and says nothing about Redis.
    if (failureClassOf(error) === 'not-written') return;
    if (!isReplyError(error) && hasSentBytes) return; // slow, but Redis answers
    this.observe(false);
    // An error reply (LOADING, BUSY, MISCONF) shows that the connection works. Without a reply, Redis is paused or the
    // connection is half open, and only a new connection shows which.
    if (!isReplyError(error)) this.client.disconnect(true);
  }

  /** Asks the Redis of a new connection for its run, until Redis answers or the connection is replaced. */
  private identify(stream: Redis['stream']): void {
    Promise.all([
      askInfo(this.client),
      askClock(this.client, () => this.options.clock.now()),
      askSettings(this.client),
      this.askMissing(),
    ])
      .then(
        ([info, sample, settings, missing]) => {
          if (!this.isCurrent(stream)) return;
          this.answers = { info, settings, missing };
          const report = this.judge();
          this.options.listener?.onReport(report, sample);
          this.identified = true;
          this.options.onIdentified();
          this.observe(true);
        },
        (error: Error) => {
          this.options.onError(error);
          if (!this.isCurrent(stream)) return;
          this.options.clock.after(IDENTIFY_PAUSE_MS, () => {
            if (this.isCurrent(stream)) this.identify(stream);
          });
        },
      )
      .catch(this.options.onError);
  }

  /**
   * Reports the facts that can change during a connection: the clock, settings, replicas, the role. Resolves when the
   * listener has got the report. Rejects if Redis does not answer.
   */
  async probe(): Promise<void> {
    const { listener, topology, clock } = this.options;
    const { stream } = this.client;
    const { info, settings } = this.answers;
    const [sample, changed, newSettings, missing] = await Promise.all([
      askClock(this.client, () => clock.now()),
      info.size > 0 ? askInfo(this.client, 'replication', 'memory') : info,
      settings && askSettings(this.client),
      this.askMissing(),
    ]);
    if (!this.isCurrent(stream)) return;
    const isDemoted = info.get('role') === 'master' && changed.get('role') !== 'master';
    if (isDemoted && topology !== 'cluster') return this.client.disconnect(true);
    this.answers = { info: new Map([...info, ...changed]), settings: newSettings, missing };
    const report = this.judge();
    listener?.onReport(report, sample);
  }

  private async askMissing(): Promise<MissingRights | undefined> {
    const { rights } = this.options;
    return rights && askMissing(this.client, rights);
  }

  private isCurrent(stream: Redis['stream']): boolean {
    return !this.closed && this.client.status === 'ready' && this.client.stream === stream;
  }

  private judge(): NodeReport {
    const report = nodeReportOf(this.answers, this.options.topology, this.options.quarantineMs);
    const { warnings, unsuitable } = report;
    const isChanged = this.suitable === unsuitable || warnings.join() !== this.warnings.join();
    this.report = report;
    this.warnings = warnings;
    this.suitable = !unsuitable;
    if (isChanged) this.options.onChange();
    return report;
  }
}
