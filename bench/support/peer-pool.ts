import type { PeerQueries, PeerTasks } from '../load/peer';
import { peers, type PeerName } from '../peers';
import { corpusTitle, type Corpus } from '../words/corpus';
import { cpuDuring } from './cpu';
import { LoadProcess } from './load-process';

/** Calls in flight, so that a peer with a protocol reads several requests at once. */
const CLIENTS = 32;

export class RunningPeer {
  readonly title: string;
  private readonly loads = new Map<string, Promise<unknown>>();

  constructor(
    readonly name: PeerName,
    readonly process: LoadProcess<PeerTasks>,
    private readonly pid: number,
  ) {
    this.title = peers[name].title;
  }

  async load(corpus: Corpus): Promise<void> {
    const key = corpusTitle(corpus);
    const loading = this.loads.get(key) ?? this.process.ask('load', { corpus });
    this.loads.set(key, loading);
    await loading;
  }

  /** The CPU of a query, and the CPU of a request that searches nothing (µs). */
  async cost(queries: PeerQueries, forMs: number): Promise<{ query: number; empty: number }> {
    const share = { forMs, clients: CLIENTS };
    const query = await this.cpuOf(() => this.process.ask('searchFor', { ...queries, ...share }));
    return {
      query,
      empty: await this.cpuOf(() => this.process.ask('emptyFor', { forMs: 100, clients: CLIENTS })),
    };
  }

  private async cpuOf(work: () => Promise<number>): Promise<number> {
    const { result: count, spentMs } = await cpuDuring([this.pid], work);
    return ((spentMs[0] ?? NaN) * 1000) / count;
  }
}

/** The systems that Holdfast is compared with, each in a process of its own. A peer starts when a row first asks for it. */
export class PeerPool {
  private readonly running = new Map<PeerName, Promise<RunningPeer | undefined>>();
  private readonly processes: LoadProcess<PeerTasks>[] = [];
  /** The versions of the peers that have started, or the reason why this machine lacks a peer. */
  readonly versions = new Map<PeerName, string>();

  /** The peers that this machine has. `say` tells the reason why it lacks others. */
  async open(names: readonly PeerName[], say: (text: string) => void): Promise<RunningPeer[]> {
    const found: RunningPeer[] = [];
    for (const name of names) {
      const opening = this.running.get(name) ?? this.start(name, say);
      this.running.set(name, opening);
      const peer = await opening;
      if (peer) found.push(peer);
    }
    return found;
  }

  end(): void {
    for (const process of this.processes) process.end();
  }

  private async start(name: PeerName, say: (text: string) => void): Promise<RunningPeer | undefined> {
    const process = new LoadProcess<PeerTasks>('peer');
    this.processes.push(process);
    const opened = await process.ask('open', { name });
    if ('missing' in opened) {
      say(`${peers[name].title} is not measured: ${opened.missing}`);
      this.versions.set(name, 'not on this machine');
      return undefined;
    }
    this.versions.set(name, opened.version);
    return new RunningPeer(name, process, opened.pid);
  }
}
