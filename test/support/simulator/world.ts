import { WHOLE_LOCK } from '../checkers/timeline-types';
import type { History, Micros } from '../history';
import { MemorySink, Recorder } from '../history-recorder';
import { seeded } from '../random';
import { SimClient } from './client';
import { FaultInjector, SimNetwork } from './network';
import { type IsBroken, type Job, ManualLoop, type Mutation, type Plan, type Step } from './loop';
import { SimServer } from './server';
import { SimStore } from './store';

const SECOND: Micros = 1_000_000;
const START: Micros = 1_000 * SECOND;
/** The distance of the store's wall clock from the monotonic clock. The value is arbitrary. */
const WALL_CLOCK: Micros = 1_700_000_000 * SECOND;

/** Runs a plan on a manual clock, with or without mutations. Returns the history of the clients. */
export function simulate(plan: Plan, mutations: readonly Mutation[] = []): History {
  const broken = new Set(mutations);
  return new World(plan, (mutation) => broken.has(mutation)).run();
}

class World {
  private readonly loop = new ManualLoop(START);
  private readonly sink = new MemorySink();
  private readonly recorder = new Recorder('test', this.sink, () => this.loop.now);
  private readonly network: SimNetwork;
  private readonly store: SimStore;
  private readonly faults: FaultInjector;
  private readonly limits: Map<string, number>;
  private changeCount = 0;

  constructor(
    private readonly plan: Plan,
    private readonly isBroken: IsBroken,
  ) {
    const { loop, recorder } = this;
    const network = new SimNetwork(loop, seeded(plan.seed));
    this.network = network;
    this.limits = new Map(plan.jobs.map(({ name }) => [name, plan.limits[name] ?? WHOLE_LOCK]));
    this.store = new SimStore(loop, WALL_CLOCK, this.limits, network.publish.bind(network), isBroken);
    for (let index = 0; index < plan.servers; index += 1) {
      network.servers.push(new SimServer(`server-${index}`, loop, this.store, network, isBroken));
    }
    this.faults = new FaultInjector(loop, recorder, network, this.store, (name) => this.client(name));
  }

  run(): History {
    for (const [name, limit] of Object.entries(this.plan.limits)) {
      this.recordLimitAnswered(this.recordLimitAsked(name, limit));
    }
    this.observeResidue('baseline', []);
    for (const job of this.plan.jobs) {
      this.loop.at(START + job.startUs, () => {
        const client = this.client(job.client);
        client.run(() => client.start(this.inPermits(job)));
      });
    }
    for (const step of this.plan.steps) this.loop.at(START + step.at, () => this.carryOut(step));
    this.loop.runUntil(START + this.plan.untilUs);
    for (const client of this.network.clients.values()) client.run(() => client.quit());
    const longest = Math.max(0, ...this.plan.jobs.map((job) => Math.max(job.ttlUs, job.renewTtlUs ?? 0)));
    this.loop.runUntil(this.loop.now + longest + 14 * SECOND);
    // An idle name looks like a name of a stalled store. Dead waiters are removed only after scripts run again.
    for (let second = 0; second < 5; second += 1) {
      this.store.keys();
      this.loop.runUntil(this.loop.now + SECOND);
    }
    this.observeRest();
    return this.sink.history();
  }

  private client(name: string): SimClient {
    const known = this.network.clients.get(name);
    if (known !== undefined) return known;
    const recorder = new Recorder(name, this.sink, () => this.loop.now);
    const client = new SimClient(name, this.loop, recorder, this.network, this.isBroken);
    this.network.connect(client);
    return client;
  }

  /** In the store an exclusive lock takes all permits of its name. */
  private inPermits(job: Job): Job {
    if (this.plan.limits[job.name] !== undefined) return job;
    return { ...job, permits: job.mode === 'shared' ? 1 : WHOLE_LOCK };
  }

  private carryOut(step: Step): void {
    if (step.do === 'set_limit') this.setLimit(step.name, step.limit);
    else if (step.do === 'observe') this.observe(step.name);
    else this.faults.carryOut(step);
  }

  private setLimit(name: string, limit: number): void {
    const change = this.recordLimitAsked(name, limit);
    const script = () => {
      this.store.setLimit(name, limit);
      this.loop.after(this.network.latency(), () => this.recordLimitAnswered(change));
    };
    this.loop.after(this.network.latency(), () => this.network.runInStore(null, script));
  }

  private recordLimitAsked(name: string, limit: number): string {
    this.changeCount += 1;
    const change = `limit-${this.changeCount}`;
    this.recorder.record({ type: 'limit_asked', change, name, limit });
    return change;
  }

  private recordLimitAnswered(change: string): void {
    this.recorder.record({ type: 'limit_answered', change, done: true });
  }

  private observe(name: string): void {
    const before = this.loop.now;
    const holders = this.store.holders(name);
    const redisTimeUs = this.store.clockUs;
    for (const { leaseId: lease, endUs: expiryUs } of holders) {
      this.recorder.record({ type: 'expiry_observed', name, lease, before, redisTimeUs, expiryUs });
    }
    this.recorder.record({ type: 'holders_observed', name, tokens: holders.map((holder) => holder.token) });
  }

  private observeRest(): void {
    this.observeResidue('rest', this.store.keys());
    for (const [name, limit] of this.limits) {
      this.recorder.record({ type: 'permits_probed', name, limit, obtained: this.store.free(name) });
    }
  }

  private observeResidue(when: 'baseline' | 'rest', keys: readonly string[]): void {
    const alive = this.network.servers.filter((server) => server.alive);
    const gauges = Object.fromEntries(alive.map(({ name, streams }) => [`${name} streams`, streams.size]));
    this.recorder.record({ type: 'residue_observed', when, keys, gauges });
  }
}
