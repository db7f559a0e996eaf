import type { FaultKind, LossCause, Micros } from '../history';
import type { Recorder } from '../history-recorder';
import type { SimClient } from './client';
import type { ManualLoop } from './loop';
import type { SimNetwork } from './network';
import type { Step } from './plan';
import type { SimProcess } from './process';
import type { SimServer } from './server';
import type { SimStore } from './store';

const KEEP_ALIVE: Micros = 3_000_000;

export type FaultStep = Exclude<Step, { readonly do: 'set_limit' | 'observe' }>;

interface FaultScope {
  readonly explains?: readonly LossCause[];
  readonly clients?: readonly string[];
}

/** Carries out the faults of a plan, and records each fault in the history. */
export class FaultInjector {
  private faultCount = 0;

  constructor(
    private readonly loop: ManualLoop,
    private readonly recorder: Recorder,
    private readonly network: SimNetwork,
    private readonly store: SimStore,
    private readonly clientNamed: (name: string) => SimClient,
  ) {}

  carryOut(step: FaultStep): void {
    switch (step.do) {
      case 'kill_client':
        return this.killClient(this.clientNamed(step.client));
      case 'cut_client':
        return this.cutClient(this.clientNamed(step.client), step.noticedAfterUs ?? 1_000);
      case 'stop_client':
        return this.stopClient(this.clientNamed(step.client), step.forUs);
      case 'kill_server':
        return this.killServer(this.network.servers[step.server]);
      case 'stop_server': {
        const server = this.network.servers[step.server];
        if (server?.alive) this.stop('server_stopped', server, step.forUs);
        return;
      }
      case 'stall_store':
        if (this.network.isStoreStalled) return;
        this.record('redis_stopped', step.forUs);
        return this.network.stallStore(step.forUs);
      case 'flush_store':
        return this.flushStore();
      case 'drop_replies':
        return this.dropReplies(step.count);
      case 'drop_messages':
        this.record('connections_killed', 0);
        return this.network.dropMessages(step.count);
      case 'delay_messages':
        this.network.messageDelayUs = step.byUs;
    }
  }

  private startFault(kind: FaultKind, scope: FaultScope): string {
    this.faultCount += 1;
    const fault = `fault-${this.faultCount}`;
    this.recorder.record({ type: 'fault_started', fault, kind, what: kind, ...scope });
    return fault;
  }

  private endFault(fault: string): void {
    this.recorder.record({ type: 'fault_ended', fault });
  }

  private record(kind: FaultKind, lastsUs: Micros, scope: FaultScope = {}): void {
    const fault = this.startFault(kind, scope);
    if (lastsUs === 0) this.endFault(fault);
    else this.loop.after(lastsUs, () => this.endFault(fault));
  }

  private stop(kind: FaultKind, process: SimProcess, forUs: Micros, scope: FaultScope = {}): void {
    this.record(kind, forUs, scope);
    process.stop();
    this.loop.after(forUs, () => process.continue());
  }

  /** The next renewal makes up for one lost reply. Several lost replies in a row may outlast a short lease. */
  private dropReplies(count: number): void {
    const explains: LossCause[] = count === 1 ? [] : ['STORE_UNAVAILABLE', 'EXPIRED'];
    const fault = this.startFault('reply_dropped', { explains });
    this.network.dropReplies(count, () => this.endFault(fault));
  }

  /** Records the loss as a manual deletion of all keys, because this store has no epochs and no quarantine. */
  private flushStore(): void {
    const fault = this.startFault('redis_deleted', {});
    this.network.runInStore(null, () => {
      this.store.flush();
      this.endFault(fault);
    });
  }

  private killClient(client: SimClient): void {
    if (!client.alive) return;
    this.recorder.record({ type: 'killed', client: client.name });
    const calls = client.openCalls();
    client.kill();
    for (const call of calls) this.network.cancel(client, call);
  }

  private cutClient(client: SimClient, noticedAfterUs: Micros): void {
    if (!client.alive) return;
    this.record('link_cut', noticedAfterUs, { clients: [client.name] });
    const calls = client.openCalls();
    for (const call of calls) {
      const server = this.network.serverOf(call);
      server?.after(noticedAfterUs, () => server.cancelled(call));
    }
    this.loop.after(this.network.latency(), () => client.run(() => client.disconnected(calls)));
  }

  /** The server closes the connection of a silent client when its keep-alive pings are unanswered. */
  private stopClient(client: SimClient, forUs: Micros): void {
    if (!client.alive) return;
    this.stop('client_stopped', client, forUs, { clients: [client.name] });
    if (forUs <= KEEP_ALIVE) return;
    this.loop.after(KEEP_ALIVE, () => {
      const calls = client.openCalls();
      for (const call of calls) {
        const server = this.network.serverOf(call);
        server?.run(() => server.cancelled(call));
      }
      client.run(() => client.disconnected(calls));
    });
  }

  /** Kills a server, except the last server. */
  private killServer(server: SimServer | undefined): void {
    const aliveCount = this.network.servers.filter(({ alive }) => alive).length;
    if (server === undefined || !server.alive || aliveCount === 1) return;
    this.record('server_killed', 0);
    server.kill();
    for (const client of this.network.clients.values()) {
      for (const id of client.openCalls()) {
        if (this.network.serverOf(id) === server) this.network.refuse(server, { id, client });
      }
    }
  }
}
