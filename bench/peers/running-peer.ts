import type { PeerQueries, PeerTasks } from '../load/peer';
import { cpuDuring } from '../support/cpu';
import { LoadProcess } from '../support/load-process';
import type { Missing } from '../support/yardsticks';
import { corpusTitle, type Corpus } from '../words/corpus';
import { peers, type PeerName } from '.';

/** Calls in flight, so that a peer with a protocol reads several requests at once. */
const CLIENTS = 32;

/** A system that Holdfast is compared with, in a process of its own. */
export class RunningPeer {
  private readonly loads = new Map<string, Promise<unknown>>();

  private constructor(
    readonly name: PeerName,
    readonly version: string,
    readonly process: LoadProcess<PeerTasks>,
    private readonly pid: number,
  ) {}

  static async start(name: PeerName): Promise<RunningPeer | Missing> {
    const process = new LoadProcess<PeerTasks>('peer');
    const opened = await process.ask('open', { name });
    if (!('missing' in opened)) return new RunningPeer(name, opened.version, process, opened.pid);
    process.end();
    return opened;
  }

  get title(): string {
    return peers[this.name].title;
  }

  async load(corpus: Corpus): Promise<void> {
    const key = corpusTitle(corpus);
    const loading = this.loads.get(key) ?? this.process.ask('load', { corpus });
    this.loads.set(key, loading);
    await loading;
  }

  /** The CPU of a query, and the CPU of a request that searches nothing (µs). */
  async cost(queries: PeerQueries, forMs: number): Promise<{ query: number; empty: number }> {
    const query = await this.cpuOf(() =>
      this.process.ask('searchFor', { ...queries, forMs, clients: CLIENTS }),
    );
    const span = { forMs: 100, clients: CLIENTS };
    return { query, empty: await this.cpuOf(() => this.process.ask('emptyFor', span)) };
  }

  end(): void {
    this.process.end();
  }

  private async cpuOf(work: () => Promise<number>): Promise<number> {
    const { result: count, spentMs } = await cpuDuring([this.pid], work);
    return ((spentMs[0] ?? NaN) * 1000) / count;
  }
}
