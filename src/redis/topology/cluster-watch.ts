import type { Clock, Timer } from '../../engine/clock';
import type { Endpoint } from '../address';
import { openClient, safeOptions } from '../connection/client';
import { bestOf, readView, type ClusterView } from './cluster-view';

/** A node that can be asked for the Cluster's state. */
export interface Source {
  readonly address: string;
  ask(...command: [string, ...string[]]): Promise<unknown>;
}

export interface ClusterWatchOptions {
  readonly clock: Clock;
  /** Nodes with a connection that works. */
  readonly sources: () => readonly Source[];
  /** The addresses of others, for when none of them answers. */
  readonly seeds: () => readonly string[];
  /** How a node is connected to that there is no connection to. */
  readonly endpoint: (address: string) => Endpoint;
  readonly commandTimeoutMs: number;
  /** Nothing is missing or unreachable. */
  readonly isWhole: () => boolean;
  /** What was asked for at that time. */
  readonly onView: (view: ClusterView, askedAt: number) => void;
  readonly onError: (error: Error) => void;
}

/** How often the Cluster is looked at while all is well, and while something is missing. */
export const CALM_INTERVAL_MS = 5000;
const ALERT_INTERVAL_MS = 200;
/** Not sooner after one look than this comes the next, however many commands are turned away. */
const SHORTEST_INTERVAL_MS = 50;
/** So many are asked at a time ... */
const MOST_ASKED = 6;
/** ... and for so long the others are waited for once one has answered: it may be one that was cut off. */
const SECOND_OPINION_MS = 100;
const ANSWER_TIMEOUT_MS = 1500;

/**
 * Looks at a Cluster: now and then, more often while something is missing, and soon after a command was turned away. It
 * asks several nodes, for one that was cut off from the others tells of what has been.
 */
export class ClusterWatch {
  private timer: Timer | undefined;
  private due = Infinity;
  private looking = false;
  private lookedAt = -Infinity;
  private closed = false;

  constructor(private readonly options: ClusterWatchOptions) {}

  /** Looks as soon as it may. */
  soon(): void {
    this.at(this.lookedAt + SHORTEST_INTERVAL_MS);
  }

  close(): void {
    this.closed = true;
    this.timer?.cancel();
  }

  private at(time: number): void {
    if (this.closed || time >= this.due) return;
    this.timer?.cancel();
    this.due = time;
    if (this.looking) return; // it will be seen to afterwards
    this.arm();
  }

  private arm(): void {
    const { clock } = this.options;
    this.timer = clock.after(Math.max(0, this.due - clock.now()), () => {
      this.due = Infinity;
      this.refresh()
        .catch(this.options.onError)
        .finally(() => this.again())
        .catch(this.options.onError);
    });
  }

  private async refresh(): Promise<void> {
    const { clock, onView } = this.options;
    this.looking = true;
    const askedAt = clock.now();
    this.lookedAt = askedAt;
    const view = await this.view();
    if (view && !this.closed) onView(view, askedAt);
  }

  private again(): void {
    this.looking = false;
    if (this.closed) return;
    if (this.due < Infinity) return this.arm();
    this.at(this.lookedAt + (this.options.isWhole() ? CALM_INTERVAL_MS : ALERT_INTERVAL_MS));
  }

  private async view(): Promise<ClusterView | undefined> {
    const { sources, seeds } = this.options;
    const known = await this.bestAnswer(sample(sources()).map((source) => askView(source)));
    if (known) return known;
    return this.bestAnswer(sample(seeds()).map((seed) => this.visit(seed)));
  }

  /** Asks over a connection made for that. */
  private async visit(address: string): Promise<ClusterView> {
    const { endpoint, commandTimeoutMs } = this.options;
    const client = openClient(endpoint(address), {
      ...safeOptions(commandTimeoutMs),
      lazyConnect: true,
      retryStrategy: () => null,
    });
    let why: Error | undefined;
    client.on('error', (error: Error) => (why ??= error));
    try {
      await client.connect().catch((error: unknown) => {
        throw why ?? error; // `connect` itself only says that there is no connection
      });
      return await askView({ address, ask: (command, ...args) => client.call(command, args) });
    } finally {
      client.disconnect();
    }
  }

  /** Undefined if nobody answers in time. */
  private bestAnswer(questions: readonly Promise<ClusterView>[]): Promise<ClusterView | undefined> {
    if (questions.length === 0) return Promise.resolve(undefined);
    const { clock, onError } = this.options;
    return new Promise((resolve) => {
      const views: ClusterView[] = [];
      let open = questions.length;
      const finish = () => {
        timer.cancel();
        resolve(bestOf(views));
      };
      let timer = clock.after(ANSWER_TIMEOUT_MS, finish);
      const settled = () => {
        open -= 1;
        if (open === 0) finish();
      };
      for (const question of questions) {
        question
          .then(
            (view) => {
              if (views.push(view) > 1) return;
              timer.cancel();
              timer = clock.after(SECOND_OPINION_MS, finish);
            },
            (error: unknown) => onError(error as Error),
          )
          .then(settled)
          .catch(onError);
      }
    });
  }
}

/** What a node says of the Cluster. */
export async function askView(source: Source): Promise<ClusterView> {
  const [info, slots] = await Promise.all([source.ask('CLUSTER', 'INFO'), source.ask('CLUSTER', 'SLOTS')]);
  return readView(info, slots, source.address);
}

/** Some of them, others each time. */
function sample<T>(all: readonly T[]): readonly T[] {
  if (all.length <= MOST_ASKED) return all;
  const start = Math.floor(Math.random() * all.length);
  return [...all.slice(start), ...all.slice(0, start)].slice(0, MOST_ASKED);
}
