import type { Redis } from 'ioredis';
import type { Clock, Timer } from '../../engine/clock';
import { isReplyError } from './failure-class';
import {
  askClock,
  askInfo,
  askSettings,
  nodeReportOf,
  type Answers,
  type NodeReport,
  type Topology,
} from './node-report';
import type { ClockSample } from './server-clock';

export interface Witness {
  /** Before any other command is sent through a new connection, and about each second after that. */
  found(findings: NodeReport, sample: ClockSample): void;
}

export interface PulseOptions {
  /** What this Redis is a part of; default: of nothing. */
  readonly topology?: Topology;
  /** No lease is believed for longer (ms). */
  readonly quarantineMs?: number;
  readonly clock: Clock;
  readonly onError: (error: Error) => void;
  /** Hears what the Redis says of itself. */
  readonly witness?: Witness;
  /** The Redis at the other end has said who it is. */
  readonly onIdentified: () => void;
  /** It answers or not, or is dangerous in another way than before. */
  readonly onChange: () => void;
}

const PING_INTERVAL_MS = 1000;
/** Before a Redis that did not say who it is (it is busy) is asked again. */
const IDENTIFY_PAUSE_MS = 50;

/** Who the Redis is at the other end of a connection, how it is set up, what its clock shows, and whether it answers. */
export class NodeProbe {
  suitable = true;
  warnings: readonly string[] = [];
  answering = false;
  /** Its Redis has said who it is: nothing is sent through this connection before. */
  identified = false;
  private answers: Answers = { info: new Map(), settings: undefined };
  private heardAt = -Infinity;
  private timer: Timer | undefined;
  private closed = false;

  constructor(
    private readonly client: Redis,
    private readonly options: PulseOptions,
  ) {
    this.ping();
  }

  /** When it was asked last it was a master. */
  get wasMaster(): boolean {
    return this.answers.info.get('role') === 'master';
  }

  connected(): void {
    this.identify(this.client.stream);
  }

  lost(): void {
    this.identified = false;
  }

  /** Some command was answered. */
  heard(): void {
    this.heardAt = this.options.clock.now();
  }

  observe(answering: boolean): void {
    if (this.answering === answering) return;
    this.answering = answering;
    this.options.onChange();
  }

  close(): void {
    this.closed = true;
    this.timer?.cancel();
  }

  /** A Redis that is stopped keeps its connections: only an unanswered PING shows it. */
  private ping(): void {
    this.timer = this.options.clock.after(PING_INTERVAL_MS, () => {
      if (this.client.status !== 'ready') return this.ping();
      const sentAt = this.options.clock.now();
      if (this.identified && this.options.witness) this.probe().catch(this.options.onError);
      this.client
        .ping()
        .then(
          () => this.observe(true),
          (error: unknown) => this.onPingFailed(error, sentAt),
        )
        .finally(() => {
          if (!this.closed) this.ping();
        })
        .catch(this.options.onError);
    });
  }

  private onPingFailed(error: unknown, sentAt: number): void {
    if (this.closed || this.client.status !== 'ready') return;
    if (!isReplyError(error) && this.heardAt > sentAt) return; // slow, but there
    this.observe(false);
    // An answer that refuses (LOADING, BUSY, MISCONF) shows a Redis that is there and takes no commands. None at
    // all: it is stopped, or the connection is half open, and only another one can tell.
    if (!isReplyError(error)) this.client.disconnect(true);
  }

  /** Asks who this Redis is that has just been connected to, until it answers or the connection is another one. */
  private identify(stream: Redis['stream']): void {
    Promise.all([
      askInfo(this.client),
      askClock(this.client, () => this.options.clock.now()),
      askSettings(this.client),
    ])
      .then(
        ([info, sample, settings]) => {
          if (!this.isThere(stream)) return;
          this.answers = { info, settings };
          const findings = this.judge();
          this.options.witness?.found(findings, sample);
          this.identified = true;
          this.options.onIdentified();
          this.observe(true);
        },
        (error: Error) => {
          this.options.onError(error);
          if (!this.isThere(stream)) return;
          this.options.clock.after(IDENTIFY_PAUSE_MS, () => {
            if (this.isThere(stream)) this.identify(stream);
          });
        },
      )
      .catch(this.options.onError);
  }

  /**
   * Looks at what can change while a connection lasts: the clock, settings, replicas, whether it is a master. Resolves
   * once the witness has heard of it; rejects if Redis does not answer.
   */
  async probe(): Promise<void> {
    const { witness, topology, clock } = this.options;
    const { stream } = this.client;
    const { info, settings } = this.answers;
    const [sample, roles, now] = await Promise.all([
      askClock(this.client, () => clock.now()),
      info.size > 0 ? askInfo(this.client, 'replication') : info,
      settings && askSettings(this.client),
    ]);
    if (!this.isThere(stream)) return;
    const isDemoted = info.get('role') === 'master' && roles.get('role') !== 'master';
    if (isDemoted && topology !== 'cluster') return this.client.disconnect(true);
    this.answers = { info: new Map([...info, ...roles]), settings: now };
    witness?.found(this.judge(), sample);
  }

  private isThere(stream: Redis['stream']): boolean {
    return !this.closed && this.client.status === 'ready' && this.client.stream === stream;
  }

  private judge(): NodeReport {
    const findings = nodeReportOf(this.answers, this.options.topology, this.options.quarantineMs);
    const { warnings, unsuitable } = findings;
    const isNews = this.suitable === unsuitable || warnings.join() !== this.warnings.join();
    this.warnings = warnings;
    this.suitable = !unsuitable;
    if (isNews) this.options.onChange();
    return findings;
  }
}
