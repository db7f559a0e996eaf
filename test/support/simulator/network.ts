import type { FaultKind, LossCause, Micros } from '../history';
import type { Recorder } from '../history-recorder';
import type { Random } from '../random';
import type { ClientNetwork, SimClient } from './client';
import type { ManualLoop, SimProcess, Step } from './loop';
import type { Answer, ClientCall, LeaseCallMessage, OpenCall } from './messages';
import type { StoreMessage } from './resource';
import type { ServerNetwork, SimServer } from './server';
import type { SimStore } from './store';

/** The links between clients, servers and the store, with random delays. Each link keeps the order of its messages. */
export class SimNetwork implements ClientNetwork, ServerNetwork {
  readonly servers: SimServer[] = [];
  readonly clients = new Map<string, SimClient>();
  /** The extra delay of pub/sub messages. */
  messageDelayUs: Micros = 0;
  isStoreStalled = false;
  private readonly connectedTo = new Map<string, number>();
  private readonly callServer = new Map<string, SimServer>();
  private readonly lastArrival = new Map<string, Micros>();
  private readonly replyDrops: { left: number; readonly onDropped: () => void }[] = [];
  private messageDrops = 0;
  private readonly inSockets: { readonly server: SimServer | null; readonly script: () => void }[] = [];

  constructor(
    private readonly loop: ManualLoop,
    private readonly random: Random,
  ) {}

  /** Adds a client. Clients are connected to the servers in turn. */
  connect(client: SimClient): void {
    this.clients.set(client.name, client);
    this.connectedTo.set(client.name, this.clients.size % this.servers.length);
  }

  open(client: SimClient, call: OpenCall): void {
    const server = this.serverFor(client, call);
    this.toServer(client, server, () => server.open(call));
    if (!server.alive) this.refuse(server, call);
  }

  cancel(client: SimClient, callId: string): void {
    const server = this.callServer.get(callId);
    if (server !== undefined) this.toServer(client, server, () => server.cancelled(callId));
  }

  leaseCall(client: SimClient, kind: 'renew' | 'release', call: LeaseCallMessage): void {
    const server = this.serverFor(client, call);
    this.toServer(client, server, () => server[kind](call));
    if (!server.alive) this.refuse(server, call);
  }

  reconnect(client: SimClient): void {
    const from = this.connectedTo.get(client.name) ?? 0;
    const others = this.servers.map((_, step) => (from + 1 + step) % this.servers.length);
    this.connectedTo.set(client.name, others.find((index) => this.servers[index]?.alive) ?? from);
  }

  serverOf(callId: string): SimServer | undefined {
    return this.callServer.get(callId);
  }

  toStore(server: SimServer, script: () => void): void {
    this.send(`${server.name}>store`, () => this.runInStore(server, script));
  }

  fromStore(server: SimServer, deliver: () => void): void {
    const dropping = this.replyDrops[0];
    if (dropping !== undefined) {
      dropping.left -= 1;
      if (dropping.left === 0) {
        this.replyDrops.shift();
        dropping.onDropped();
      }
      return;
    }
    this.send(`store>${server.name}`, () => server.run(deliver));
  }

  toClient(server: SimServer, { id, client }: ClientCall, answer: Answer): void {
    this.send(`${server.name}>${client.name}`, () => client.run(() => client.receive(id, answer)));
  }

  /** Ends a call of a dead server. */
  refuse(server: SimServer, call: ClientCall): void {
    this.toClient(server, call, { type: 'ended', code: 'UNAVAILABLE', reason: null });
  }

  /** Delivers a pub/sub message to a server. */
  publish(serverName: string, message: StoreMessage): void {
    if (this.messageDrops > 0) {
      this.messageDrops -= 1;
      return;
    }
    const target = this.servers.find(({ name }) => name === serverName);
    this.loop.after(this.messageDelayUs + this.latency(), () => target?.run(() => target.notified(message)));
  }

  /** Runs a script now, or after the stall. `server` is null for a script that no server sent. */
  runInStore(server: SimServer | null, script: () => void): void {
    if (this.isStoreStalled) this.inSockets.push({ server, script });
    else script();
  }

  stallStore(forUs: Micros): void {
    this.isStoreStalled = true;
    this.loop.after(forUs, () => this.resumeStore());
  }

  /** Drops the next replies of the store, after all earlier drops. */
  dropReplies(count: number, onDropped: () => void): void {
    this.replyDrops.push({ left: count, onDropped });
  }

  dropMessages(count: number): void {
    this.messageDrops += count;
  }

  latency(): Micros {
    return 100 + Math.floor(this.random() * 3_000);
  }

  /** Runs the backlog: the sockets in random order, and the commands of each socket in their order. */
  private resumeStore(): void {
    this.isStoreStalled = false;
    const backlog = this.inSockets.splice(0);
    const order = new Map(backlog.map(({ server }) => [server, this.random()]));
    backlog.sort((a, b) => (order.get(a.server) ?? 0) - (order.get(b.server) ?? 0));
    for (const { script } of backlog) script();
  }

  private toServer(client: SimClient, server: SimServer, deliver: () => void): void {
    this.send(`${client.name}>${server.name}`, () => server.run(deliver));
  }

  private send(link: string, deliver: () => void): void {
    const at = Math.max(this.loop.now + this.latency(), this.lastArrival.get(link) ?? 0);
    this.lastArrival.set(link, at);
    this.loop.at(at, deliver);
  }

  private serverFor(client: SimClient, call: ClientCall): SimServer {
    const server = this.servers[this.connectedTo.get(client.name) ?? 0] ?? this.servers[0];
    if (server === undefined) throw new Error('a plan needs at least one server');
    this.callServer.set(call.id, server);
    return server;
  }
}

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
