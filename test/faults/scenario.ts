import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../support/eventually';
import { endingOf } from '../support/clients/calls';
import { eitherClient } from '../support/clients/lease-client';
import type { Resource, Service } from '../../src/leases/lease';
import { expectInvariantsToHold, type CheckAllOptions } from '../support/checkers/check-all';
import { DEFAULT_OPTIONS, formatTrace } from '../support/checkers/violation';
import type { FaultKind, FaultStarted, History, HistoryEvent, Micros } from '../support/history';
import { MemorySink, mergeHistories, monotonicMicros, Recorder } from '../support/history-recorder';
import { DelaySampler, Stopwatch } from '../support/stopwatch';
import type { Fleet, FleetStore, Member } from './fleet';
import { Observer } from './observer';
import { Operator } from './operator';
import { RecordedClient } from './recorded-client';
import { residueOf } from './residue';
import { restingSince } from './rest';

type FaultScope = Partial<Pick<FaultStarted, 'clients' | 'names' | 'excuses' | 'explains' | 'graceUs'>>;

/** The number of events that a failed scenario prints of its history. */
const SHOWN_EVENTS = 40;
/** The bound of simultaneous probes, because each probe opens a connection. */
const PROBES_AT_ONCE = 32;
const REST_MS = 1000;
/** Shorter than the timeout of a test, so that the scenario can still come to rest and print its history. */
const SCENARIO_MS = 60_000;

/**
 * A test with its own names, clients and history. At its end the system is at rest: all permits can be acquired, Redis
 * keeps no holder or waiter, and the invariants hold over the history that the clients recorded.
 */
export class Scenario {
  readonly observer: Observer;
  private readonly sink = new MemorySink();
  private readonly recorder: Recorder;
  private readonly clients: RecordedClient[] = [];
  private readonly operators: Operator[] = [];
  private readonly resources: Resource[] = [];
  private readonly sources: (() => readonly HistoryEvent[])[] = [];
  private readonly endings: (() => Promise<void>)[] = [];
  private readonly delays: DelaySampler;
  private faultCount = 0;

  constructor(
    readonly fleet: Fleet<FleetStore>,
    private readonly title: string,
    /** A server that stays up and can reach Redis at the end. */
    private readonly witness: Member,
  ) {
    this.delays = new DelaySampler(() => this.pids());
    this.recorder = new Recorder(title, this.sink);
    this.observer = new Observer(fleet.redis, this.recorder, witness.address);
  }

  /** A new lock for this scenario. With `watched = false` the observer sends no Redis commands for the lock. */
  lock(label: string, watched = true): string {
    return this.resource('lock', label, watched);
  }

  /** A new semaphore for this scenario, with this limit. */
  async semaphore(label: string, limit: number, watched = true): Promise<string> {
    const name = this.resource('semaphore', label, watched);
    await this.operator(`first limit of ${label}`, this.witness).setLimit(name, limit);
    return name;
  }

  client(label: string, member: Member, service: Service = 'lock'): RecordedClient {
    const recorder = new Recorder(label, this.sink);
    const client = new RecordedClient(`${this.title} ${label}`, member.address, recorder, service);
    this.clients.push(client);
    return client;
  }

  /** An operator who sets limits and deletes semaphores, and retries at the witness when `member` is down. */
  operator(label: string, member: Member): Operator {
    const operator = new Operator(member.address, this.witness, new Recorder(label, this.sink));
    this.operators.push(operator);
    return operator;
  }

  /** A recorder of another program part, for example an operator who revokes leases. */
  recorderOf(label: string): Recorder {
    return new Recorder(label, this.sink);
  }

  /** Runs `end` when the scenario is at rest or has failed. */
  atEnd(end: () => Promise<void>): void {
    this.endings.push(end);
  }

  /** Adds the events of another process to the history. */
  include(events: () => readonly HistoryEvent[]): void {
    this.sources.push(events);
  }

  /** Records a kill of `client`. Callers kill the client directly after this call. */
  willKill(client: string): void {
    this.recorder.record({ type: 'killed', client });
  }

  /** Records the start of a fault. The returned function records its end. */
  fault(kind: FaultKind, what: string, scope: FaultScope = {}): () => void {
    this.faultCount += 1;
    const fault = `${this.title} ${this.faultCount}`;
    this.recorder.record({ type: 'fault_started', fault, kind, what, ...scope });
    return () => void this.recorder.record({ type: 'fault_ended', fault });
  }

  /** Records a fault that has already ended. */
  past(kind: FaultKind, what: string, from: Micros, to: Micros): void {
    this.faultCount += 1;
    const fault = `${this.title} ${this.faultCount}`;
    this.recorder.record({ type: 'fault_started', fault, kind, what }, from);
    this.recorder.record({ type: 'fault_ended', fault }, to);
  }

  /** Records a fault without a duration. */
  instant(kind: FaultKind, what: string, scope: FaultScope = {}): void {
    this.fault(kind, what, scope)();
  }

  history(): History {
    return mergeHistories(this.sink.events, ...this.sources.map((events) => events()));
  }

  /** Starts a stopwatch that subtracts the waits of this scenario's processes for a core. */
  stopwatch(): Stopwatch {
    return new Stopwatch(() => this.pids());
  }

  /** The longest delay that a busy machine can have caused within two seconds of this scenario. */
  worstDelayMs(): number {
    return this.delays.worstMs();
  }

  /**
   * Waits until every lease without renewals has ended, and records the residue. A store that lost writes may contain
   * waiters of calls that have ended. Such waiters get offers again, and `probesWaitMs` outlasts them.
   */
  async comeToRest(probesWaitMs = 0): Promise<void> {
    const restingAt = restingSince(this.history()) + REST_MS * 1000;
    await sleep(Math.max(0, (restingAt - monotonicMicros()) / 1000));
    await this.observer.stop();
    for (let next = 0; next < this.resources.length; next += PROBES_AT_ONCE) {
      const some = this.resources.slice(next, next + PROBES_AT_ONCE);
      await Promise.all(some.map((resource) => this.probe(resource, probesWaitMs)));
    }
    const keys = await Promise.all(this.resources.map((resource) => residueOf(this.fleet.redis, resource)));
    this.recorder.record({ type: 'residue_observed', when: 'rest', keys: keys.flat(), gauges: {} });
  }

  async close(): Promise<void> {
    this.delays.stop();
    await this.observer.stop();
    for (const end of this.endings) await end();
    for (const closable of [...this.clients, ...this.operators, this.observer]) closable.close();
  }

  /** This process, the running servers, and Redis if the store is a single process. */
  private pids(): number[] {
    const servers = this.fleet.members.filter(({ server }) => server.exit === undefined);
    const { pid } = this.fleet.redis as { readonly pid?: number };
    return [process.pid, ...servers.map(({ server }) => server.pid), ...(pid === undefined ? [] : [pid])];
  }

  private resource(service: Service, label: string, watched: boolean): string {
    const name = `${this.title} ${label}`;
    this.resources.push({ service, name });
    this.observer.register({ service, name });
    if (watched) this.observer.watchName(name);
    return name;
  }

  /**
   * Acquires all permits of a name, records how many permits were obtained, and releases the permits. Does nothing for
   * a paused or deleted semaphore, which grants no permits.
   */
  private async probe({ service, name }: Resource, waitMs: number): Promise<void> {
    const probe = eitherClient(service, this.witness.address);
    try {
      const { limit } = await answered(name, () => probe.view(name));
      if (limit === 0) return;
      const lease = await probe.acquire({ name, waitMs, permits: limit }).catch(notGranted);
      const obtained = lease === undefined ? 0 : limit;
      this.recorder.record({ type: 'permits_probed', name, limit, obtained });
      if (lease !== undefined) await probe.release(lease.leaseId);
    } catch (error) {
      if (endingOf(error).reason !== 'NO_SUCH_SEMAPHORE') throw error;
    } finally {
      probe.close();
    }
  }
}

export interface ScenarioOptions extends CheckAllOptions {
  readonly fleet: Fleet;
  readonly title: string;
  readonly witness?: Member;
  /** The timeout of the scenario, without the wait for rest. */
  readonly limitMs?: number;
}

/**
 * Runs a scenario to its end and checks the invariants over its history. A failure prints the end of the history. The
 * checkers allow for the delays of a busy machine, as measured.
 */
export async function runScenario(
  { fleet, title, witness = fleet.member(0), limitMs = SCENARIO_MS, ...checks }: ScenarioOptions,
  run: (scenario: Scenario) => Promise<void>,
): Promise<void> {
  const scenario = new Scenario(fleet, title, witness);
  try {
    await within(limitMs, run(scenario));
    await scenario.comeToRest();
  } catch (error) {
    const events = scenario.history().filter(({ type }) => !type.endsWith('_observed'));
    const shown = events.slice(-SHOWN_EVENTS);
    throw new Error(`${(error as Error).message}\n${formatTrace(shown)}`, { cause: error });
  } finally {
    await scenario.close();
  }
  const { latencyUs = DEFAULT_OPTIONS.latencyUs } = checks;
  const allowedUs = latencyUs + Math.ceil(scenario.worstDelayMs() * 1000);
  expectInvariantsToHold(scenario.history(), { ...checks, latencyUs: allowedUs });
}

/** Retries while the server is UNAVAILABLE, because after a stall a server may still close connections. */
async function answered<T>(name: string, ask: () => Promise<T>): Promise<T> {
  const ending = await eventually(`an answer about ${name}`, () =>
    ask().then(
      (answer) => ({ answer }),
      (error: unknown) => {
        if (endingOf(error).code === 'UNAVAILABLE') throw error;
        return { error };
      },
    ),
  );
  if ('error' in ending) throw ending.error;
  return ending.answer;
}

function notGranted(error: unknown): undefined {
  if (endingOf(error).reason !== 'CONTENDED') throw error;
  return undefined;
}

async function within(limitMs: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`the scenario did not end within ${limitMs} ms`)), limitMs);
  });
  await Promise.race([work, limit]).finally(() => clearTimeout(timer));
}
