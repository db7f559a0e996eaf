import type { Clock, Timer } from '../../base/clock';
import { answersInTime } from '../../flow/waiting';
import type { RedisHost } from '../../base/redis-address';
import { SLOT_COUNT } from '../buckets';
import type { RedisEndpoint } from '../endpoint';
import type { Redirection } from '../failure-class';
import { openClient, safeOptions } from '../redis-client';

/** The Cluster as one of its nodes sees it. */
export interface ClusterView {
  /** The number of the Cluster's last change. A node that was cut off has a lower number. */
  readonly epoch: number;
  /** True if this node reports a working Cluster. */
  readonly working: boolean;
  /** The master of each slot, as `host:port`; undefined: the slot has no master. */
  readonly owners: readonly (string | undefined)[];
  /** Masters and replicas, as `host:port`. */
  readonly members: ReadonlySet<string>;
}

export function addressOf({ host, port }: RedisHost): string {
  return `${host}:${port}`;
}

/** The port follows the last colon. An IPv6 address has no brackets here. */
export function hostOf(address: string): RedisHost {
  const colon = address.lastIndexOf(':');
  return { host: address.slice(0, colon), port: Number(address.slice(colon + 1)) };
}

/** The node that a redirection names. The node at `from` leaves the host out if it does not know its own address. */
export function redirectedAddress({ host, port }: Redirection, from: string): string {
  return addressOf({ host: knownHost(host, from), port });
}

function knownHost(host: unknown, from: string): string {
  return typeof host === 'string' && host !== '' && host !== '?' ? host : hostOf(from).host;
}

/** Reads the replies of the node at `from` to CLUSTER INFO and CLUSTER SLOTS. */
export function readView(info: unknown, slots: unknown, from: string): ClusterView {
  const field = (name: string) => new RegExp(`^${name}:(\\S+)`, 'm').exec(String(info))?.[1];
  const owners: (string | undefined)[] = Array.from({ length: SLOT_COUNT }, () => undefined);
  const members = new Set<string>();
  for (const [first, last, ...nodes] of slots as [string, string, ...unknown[][]][]) {
    const addresses = nodes.map(([host, port]) =>
      addressOf({ host: knownHost(host, from), port: Number(port) }),
    );
    for (const address of addresses) members.add(address);
    const [master] = addresses;
    owners.fill(master, Number(first), Number(last) + 1);
  }
  return {
    epoch: Number(field('cluster_current_epoch') ?? 0),
    working: field('cluster_state') === 'ok',
    owners,
    members,
  };
}

/** The most trustworthy view: a view of a working Cluster if there is one, and then the view with the newest change. */
export function bestOf(views: readonly ClusterView[]): ClusterView | undefined {
  return [...views].sort((a, b) => Number(b.working) - Number(a.working) || b.epoch - a.epoch)[0];
}

/** A node that can be asked for its view of the Cluster. */
export interface Source {
  readonly address: string;
  ask(...command: [string, ...string[]]): Promise<unknown>;
}

export interface ClusterWatchOptions {
  readonly clock: Clock;
  /** Nodes with a working connection. */
  readonly sources: () => readonly Source[];
  /** Addresses of other nodes, which are asked if no source answers. */
  readonly seeds: () => readonly string[];
  readonly endpoint: (address: string) => RedisEndpoint;
  readonly commandTimeoutMs: number;
  /** Every slot has a master that answers. */
  readonly isWhole: () => boolean;
  /** Called with each view, and with the time when the view was requested. */
  readonly onView: (view: ClusterView, askedAt: number) => void;
  readonly onError: (error: Error) => void;
}

/** The time between two refreshes while every slot has a master that answers. */
export const CALM_INTERVAL_MS = 5000;
/** The time between two refreshes while a slot has no master that answers. */
const ALERT_INTERVAL_MS = 200;
/** The shortest time between two refreshes, for the case that many commands are redirected. */
const SHORTEST_INTERVAL_MS = 50;
/** How many nodes one refresh asks. */
const MOST_ASKED = 6;
/** How long a refresh waits for more answers after the first, which may come from a node that was cut off. */
const SECOND_OPINION_MS = 100;
const ANSWER_TIMEOUT_MS = 1500;

/**
 * Refreshes the view of a Cluster: at intervals, at shorter intervals while a slot has no master that answers, and soon
 * after a redirection. Each refresh asks several nodes, because a node that was cut off has an old view.
 */
export class ClusterWatch {
  private timer: Timer | undefined;
  private due = Infinity;
  private refreshing = false;
  private refreshedAt = -Infinity;
  private closed = false;

  constructor(private readonly options: ClusterWatchOptions) {}

  /** Refreshes as soon as `SHORTEST_INTERVAL_MS` allows. */
  soon(): void {
    this.schedule(this.refreshedAt + SHORTEST_INTERVAL_MS);
  }

  close(): void {
    this.closed = true;
    this.timer?.cancel();
  }

  private schedule(time: number): void {
    if (this.closed || time >= this.due) return;
    this.timer?.cancel();
    this.due = time;
    if (!this.refreshing) this.startTimer(); // otherwise `scheduleNext` starts the timer
  }

  private startTimer(): void {
    const { clock } = this.options;
    this.timer = clock.after(Math.max(0, this.due - clock.now()), () => {
      this.due = Infinity;
      this.refresh()
        .catch(this.options.onError)
        .finally(() => this.scheduleNext())
        .catch(this.options.onError);
    });
  }

  private async refresh(): Promise<void> {
    const { clock, onView } = this.options;
    this.refreshing = true;
    const askedAt = clock.now();
    this.refreshedAt = askedAt;
    const view = await this.view();
    if (view && !this.closed) onView(view, askedAt);
  }

  private scheduleNext(): void {
    this.refreshing = false;
    if (this.closed) return;
    if (this.due < Infinity) return this.startTimer();
    this.schedule(this.refreshedAt + (this.options.isWhole() ? CALM_INTERVAL_MS : ALERT_INTERVAL_MS));
  }

  private async view(): Promise<ClusterView | undefined> {
    const { sources, seeds } = this.options;
    const view = await this.bestAnswer(sample(sources()).map((source) => askView(source)));
    if (view) return view;
    return this.bestAnswer(sample(seeds()).map((seed) => this.askOnce(seed)));
  }

  /** Asks over a new connection, and closes the connection after the answer. */
  private async askOnce(address: string): Promise<ClusterView> {
    const { endpoint, commandTimeoutMs } = this.options;
    const client = openClient(endpoint(address), {
      ...safeOptions(commandTimeoutMs),
      lazyConnect: true,
      retryStrategy: () => null,
    });
    let firstError: Error | undefined;
    client.on('error', (error: Error) => (firstError ??= error));
    try {
      await client.connect().catch((error: unknown) => {
        throw firstError ?? error; // the error of `connect` does not name the cause
      });
      return await askView({ address, ask: (command, ...args) => client.call(command, args) });
    } finally {
      client.disconnect();
    }
  }

  /** Resolves to the best answer of the nodes. Undefined: no node answers in time. */
  private async bestAnswer(questions: readonly Promise<ClusterView>[]): Promise<ClusterView | undefined> {
    const { clock, onError } = this.options;
    const times = { clock, firstMs: ANSWER_TIMEOUT_MS, othersMs: SECOND_OPINION_MS, onError };
    return bestOf(await answersInTime(questions, times));
  }
}

export async function askView(source: Source): Promise<ClusterView> {
  const [info, slots] = await Promise.all([source.ask('CLUSTER', 'INFO'), source.ask('CLUSTER', 'SLOTS')]);
  return readView(info, slots, source.address);
}

/** At most `MOST_ASKED` elements, beginning at a random element. */
function sample<T>(all: readonly T[]): readonly T[] {
  if (all.length <= MOST_ASKED) return all;
  const start = Math.floor(Math.random() * all.length);
  return [...all.slice(start), ...all.slice(0, start)].slice(0, MOST_ASKED);
}
