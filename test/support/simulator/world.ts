import { WHOLE_LOCK } from '../checkers/timeline-types';
import type { FaultKind, History, LossCause, Micros } from '../history';
import { MemorySink, Recorder } from '../history-recorder';
import { SimClient, type Job } from './client';
import { seeded } from '../random';
import { ManualLoop } from './loop';
import type { IsBroken, Mutation } from './mutations';
import type { SimProcess } from './process';
import { SimServer } from './server';
import { SimStore } from './store';

const SECOND: Micros = 1_000_000;
const START: Micros = 1_000 * SECOND;
/** Redis keeps the wall clock; any distance from the monotonic one will do. */
const WALL_CLOCK: Micros = 1_700_000_000 * SECOND;
const KEEP_ALIVE: Micros = 3 * SECOND;

/** What happens to processes, links and the store, and what is looked at. */
export type Step = { readonly at: Micros } & (
  | { readonly do: 'kill_client' | 'cut_client'; readonly client: string; readonly noticedAfterUs?: Micros }
  | { readonly do: 'stop_client'; readonly client: string; readonly forUs: Micros }
  | { readonly do: 'kill_server'; readonly server: number }
  | { readonly do: 'stop_server'; readonly server: number; readonly forUs: Micros }
  | { readonly do: 'stall_store'; readonly forUs: Micros }
  | { readonly do: 'flush_store' }
  | { readonly do: 'drop_replies' | 'drop_messages'; readonly count: number }
  | { readonly do: 'delay_messages'; readonly byUs: Micros }
  | { readonly do: 'set_limit'; readonly name: string; readonly limit: number }
  | { readonly do: 'observe'; readonly name: string }
);

export interface Plan {
  readonly seed: number;
  readonly servers: number;
  /** Names with a limit are semaphores, all others locks. */
  readonly limits: Readonly<Record<string, number>>;
  readonly jobs: readonly Job[];
  readonly steps: readonly Step[];
  /** When everybody stops; what is left then is looked at once it must be gone. */
  readonly untilUs: Micros;
}

interface FaultScope {
  readonly explains?: readonly LossCause[];
  readonly clients?: readonly string[];
}

/** Runs a plan on a manual clock, with or without faults built in, and gives what the clients saw. */
export function simulate(plan: Plan, mutations: readonly Mutation[] = []): History {
  const broken = new Set(mutations);
  return new World(plan, (mutation) => broken.has(mutation)).run();
}

class World {
  private readonly loop = new ManualLoop(START);
  private readonly sink = new MemorySink();
  private readonly test = new Recorder('test', this.sink, () => this.loop.now);
  private readonly random: () => number;
  private storeStalled = false;
  private readonly inSockets: { server: SimServer | null; script: () => void }[] = [];
  private readonly store: SimStore;
  private readonly servers: SimServer[];
  private readonly clients = new Map<string, SimClient>();
  private readonly connectedTo = new Map<string, number>();
  private readonly callServer = new Map<string, SimServer>();
  /** Messages of one connection arrive in the order they were sent. */
  private readonly lastArrival = new Map<string, Micros>();
  private readonly limits: Map<string, number>;
  private count = 0;
  private readonly replyDrops: { left: number; readonly fault: string }[] = [];
  private dropMessages = 0;
  private delayMessages = 0;

  constructor(
    private readonly plan: Plan,
    private readonly isBroken: IsBroken,
  ) {
    this.random = seeded(plan.seed);
    this.limits = new Map(plan.jobs.map(({ name }) => [name, plan.limits[name] ?? WHOLE_LOCK]));
    const publish = (server: string, message: Parameters<SimServer['notified']>[0]) =>
      this.publish(server, message);
    this.store = new SimStore(this.loop, WALL_CLOCK, this.limits, publish, isBroken);
    this.servers = Array.from(
      { length: plan.servers },
      (_, index) => new SimServer(`server-${index}`, this.loop, this.store, this, isBroken),
    );
  }

  run(): History {
    for (const [name, limit] of Object.entries(this.plan.limits)) {
      this.answerLimit(this.askLimit(name, limit));
    }
    this.test.record({ type: 'residue_observed', when: 'baseline', keys: [], gauges: this.gauges() });
    for (const job of this.plan.jobs) {
      this.loop.at(START + job.startUs, () => {
        const client = this.client(job.client);
        client.run(() => client.start(this.inPermits(job)));
      });
    }
    for (const step of this.plan.steps) this.loop.at(START + step.at, () => this.take(step));
    this.loop.runUntil(START + this.plan.untilUs);
    for (const client of this.clients.values()) client.run(() => client.quit());
    const longest = Math.max(0, ...this.plan.jobs.map((job) => Math.max(job.ttlUs, job.renewTtlUs ?? 0)));
    this.loop.runUntil(this.loop.now + longest + 14 * SECOND);
    // An idle name looks like one of a stalled store: only where scripts run again the dead are judged.
    for (let second = 0; second < 5; second += 1) {
      this.store.keys();
      this.loop.runUntil(this.loop.now + SECOND);
    }
    this.observeRest();
    return this.sink.history();
  }

  open(client: SimClient, call: Parameters<SimServer['open']>[0]): void {
    const server = this.serverOf(client);
    this.callServer.set(call.id, server);
    this.toServer(client, server, () => server.open(call));
    if (!server.alive) this.refuse(server, call);
  }

  cancel(client: SimClient, callId: string): void {
    const server = this.callServer.get(callId);
    if (server !== undefined) this.toServer(client, server, () => server.cancelled(callId));
  }

  leaseCall(client: SimClient, kind: 'renew' | 'release', call: Parameters<SimServer['renew']>[0]): void {
    const server = this.serverOf(client);
    this.callServer.set(call.id, server);
    this.toServer(client, server, () => server[kind](call));
    if (!server.alive) this.refuse(server, call);
  }

  reconnect(client: SimClient): void {
    const from = this.connectedTo.get(client.name) ?? 0;
    const others = this.servers.map((_, step) => (from + 1 + step) % this.servers.length);
    this.connectedTo.set(client.name, others.find((index) => this.servers[index]?.alive) ?? from);
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
        this.endFault(dropping.fault);
      }
      return;
    }
    this.send(`store>${server.name}`, () => server.run(deliver));
  }

  toClient(
    server: SimServer,
    call: { id: string; client: SimProcess },
    answer: Parameters<SimClient['receive']>[1],
  ): void {
    const client = this.client(call.client.name);
    this.send(`${server.name}>${client.name}`, () => client.run(() => client.receive(call.id, answer)));
  }

  private runInStore(server: SimServer | null, script: () => void): void {
    if (this.storeStalled) this.inSockets.push({ server, script });
    else script();
  }

  private toServer(client: SimClient, server: SimServer, deliver: () => void): void {
    this.send(`${client.name}>${server.name}`, () => server.run(deliver));
  }

  private refuse(server: SimServer, call: { id: string; client: SimProcess }): void {
    this.toClient(server, call, { type: 'ended', code: 'UNAVAILABLE', reason: null });
  }

  private publish(server: string, message: Parameters<SimServer['notified']>[0]): void {
    if (this.dropMessages > 0) {
      this.dropMessages -= 1;
      return;
    }
    const target = this.servers.find((one) => one.name === server);
    this.loop.after(this.delayMessages + this.latency(), () => target?.run(() => target.notified(message)));
  }

  private latency(): Micros {
    return 100 + Math.floor(this.random() * 3_000);
  }

  private send(link: string, deliver: () => void): void {
    const at = Math.max(this.loop.now + this.latency(), this.lastArrival.get(link) ?? 0);
    this.lastArrival.set(link, at);
    this.loop.at(at, deliver);
  }

  private client(name: string): SimClient {
    let client = this.clients.get(name);
    if (client === undefined) {
      const recorder = new Recorder(name, this.sink, () => this.loop.now);
      client = new SimClient(name, this.loop, recorder, this, this.isBroken);
      this.clients.set(name, client);
      this.connectedTo.set(name, this.clients.size % this.servers.length);
    }
    return client;
  }

  private serverOf(client: SimClient): SimServer {
    const server = this.servers[this.connectedTo.get(client.name) ?? 0] ?? this.servers[0];
    if (server === undefined) throw new Error('a plan needs at least one server');
    return server;
  }

  /** In the store an exclusive lock takes all of the name. */
  private inPermits(job: Job): Job {
    if (this.plan.limits[job.name] !== undefined) return job;
    return { ...job, permits: job.mode === 'shared' ? 1 : WHOLE_LOCK };
  }

  private take(step: Step): void {
    switch (step.do) {
      case 'kill_client':
        return this.killClient(step.client);
      case 'cut_client':
        return this.cutClient(step.client, step.noticedAfterUs ?? 1_000);
      case 'stop_client':
        return this.stopClient(step.client, step.forUs);
      case 'kill_server':
        return this.killServer(this.servers[step.server]);
      case 'stop_server': {
        const server = this.servers[step.server];
        if (server?.alive) this.stop('server_stopped', server, step.forUs);
        return;
      }
      case 'stall_store':
        return this.stallStore(step.forUs);
      case 'flush_store':
        return this.flushStore();
      case 'drop_replies':
        return this.dropNextReplies(step.count);
      case 'drop_messages':
        this.fault('connections_killed', 0);
        this.dropMessages += step.count;
        return;
      case 'delay_messages':
        this.delayMessages = step.byUs;
        return;
      case 'set_limit':
        return this.setLimit(step.name, step.limit);
      case 'observe':
        return this.observe(step.name);
    }
  }

  private startFault(kind: FaultKind, scope: FaultScope): string {
    this.count += 1;
    const fault = `fault-${this.count}`;
    this.test.record({ type: 'fault_started', fault, kind, what: kind, ...scope });
    return fault;
  }

  private endFault(fault: string): void {
    this.test.record({ type: 'fault_ended', fault });
  }

  private fault(kind: FaultKind, lastsUs: Micros, scope: FaultScope = {}): void {
    const fault = this.startFault(kind, scope);
    if (lastsUs === 0) this.endFault(fault);
    else this.loop.after(lastsUs, () => this.endFault(fault));
  }

  private stop(kind: FaultKind, process: SimProcess, forUs: Micros, scope: FaultScope = {}): void {
    this.fault(kind, forUs, scope);
    process.stop();
    this.loop.after(forUs, () => process.continue());
  }

  /** One lost reply is made good by the next renewal; several in a row may outlast a short lease. */
  private dropNextReplies(count: number): void {
    const explains: LossCause[] = count === 1 ? [] : ['STORE_UNAVAILABLE', 'EXPIRED'];
    this.replyDrops.push({ left: count, fault: this.startFault('reply_dropped', { explains }) });
  }

  /** A store that goes on reads its sockets in any order; within one, commands stay in theirs. */
  private stallStore(forUs: Micros): void {
    if (this.storeStalled) return;
    this.storeStalled = true;
    this.fault('redis_stopped', forUs);
    this.loop.after(forUs, () => {
      this.storeStalled = false;
      const waiting = this.inSockets.splice(0);
      const order = new Map(waiting.map(({ server }) => [server, this.random()]));
      waiting.sort((a, b) => (order.get(a.server) ?? 0) - (order.get(b.server) ?? 0));
      for (const { script } of waiting) script();
    });
  }

  /** This store has no epochs that would make grants pause, so to the checkers it is as a hand that deletes all keys. */
  private flushStore(): void {
    const fault = this.startFault('redis_deleted', {});
    this.runInStore(null, () => {
      this.store.flush();
      this.endFault(fault);
    });
  }

  private killClient(name: string): void {
    const client = this.client(name);
    if (!client.alive) return;
    this.test.record({ type: 'killed', client: name });
    const calls = client.openCalls();
    client.kill();
    for (const call of calls) this.cancel(client, call);
  }

  private cutClient(name: string, noticedAfterUs: Micros): void {
    const client = this.client(name);
    if (!client.alive) return;
    this.fault('link_cut', noticedAfterUs, { clients: [name] });
    const calls = client.openCalls();
    for (const call of calls) {
      const server = this.callServer.get(call);
      server?.after(noticedAfterUs, () => server.cancelled(call));
    }
    this.loop.after(this.latency(), () => client.run(() => client.disconnected(calls)));
  }

  /** A silent client: its server closes the connection when the keep-alive pings stay unanswered. */
  private stopClient(name: string, forUs: Micros): void {
    const client = this.client(name);
    if (!client.alive) return;
    this.stop('client_stopped', client, forUs, { clients: [name] });
    if (forUs <= KEEP_ALIVE) return;
    this.loop.after(KEEP_ALIVE, () => {
      const calls = client.openCalls();
      for (const call of calls) {
        const server = this.callServer.get(call);
        server?.run(() => server.cancelled(call));
      }
      client.run(() => client.disconnected(calls));
    });
  }

  private killServer(server: SimServer | undefined): void {
    if (server === undefined || !server.alive || this.servers.filter((one) => one.alive).length === 1) return;
    this.fault('server_killed', 0);
    server.kill();
    for (const client of this.clients.values()) {
      for (const call of client.openCalls()) {
        if (this.callServer.get(call) === server) this.refuse(server, { id: call, client });
      }
    }
  }

  private setLimit(name: string, limit: number): void {
    const change = this.askLimit(name, limit);
    const carryOut = () => {
      this.store.setLimit(name, limit);
      this.loop.after(this.latency(), () => this.answerLimit(change));
    };
    this.loop.after(this.latency(), () => this.runInStore(null, carryOut));
  }

  private askLimit(name: string, limit: number): string {
    this.count += 1;
    const change = `limit-${this.count}`;
    this.test.record({ type: 'limit_asked', change, name, limit });
    return change;
  }

  private answerLimit(change: string): void {
    this.test.record({ type: 'limit_answered', change, done: true });
  }

  private observe(name: string): void {
    const before = this.loop.now;
    const holders = this.store.holders(name);
    const redisTimeUs = this.store.clockUs;
    for (const { leaseId: lease, endUs: expiryUs } of holders) {
      this.test.record({ type: 'expiry_observed', name, lease, before, redisTimeUs, expiryUs });
    }
    this.test.record({ type: 'holders_observed', name, tokens: holders.map((holder) => holder.token) });
  }

  private observeRest(): void {
    this.test.record({
      type: 'residue_observed',
      when: 'rest',
      keys: this.store.keys(),
      gauges: this.gauges(),
    });
    for (const [name, limit] of this.limits) {
      this.test.record({ type: 'permits_probed', name, limit, obtained: this.store.free(name) });
    }
  }

  private gauges(): Record<string, number> {
    const alive = this.servers.filter((server) => server.alive);
    return Object.fromEntries(alive.map((server) => [`${server.name} streams`, server.streams.size]));
  }
}
