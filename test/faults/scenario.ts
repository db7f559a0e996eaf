import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../support/eventually';
import { endingOf } from '../support/clients/call-ending';
import { eitherClient } from '../support/clients/either-client';
import type { Resource, Service } from '../../src/engine/leases/lease';
import { expectInvariantsToHold, type CheckAllOptions } from '../support/checkers/check-all';
import { formatTrace } from '../support/checkers/violation';
import type { FaultKind, FaultStarted, History, HistoryEvent, Micros } from '../support/history';
import { MemorySink, mergeHistories, Recorder } from '../support/history-recorder';
import type { Fleet, FleetStore, Member } from './fleet';
import { Observer } from './observer';
import { Operator } from './operator';
import { RecordedClient } from './recorded-client';
import { residueOf } from './residue';

type FaultScope = Partial<Pick<FaultStarted, 'clients' | 'names' | 'excuses' | 'explains' | 'graceUs'>>;

/** What a test that failed shows of its history. */
const SHOWN_EVENTS = 40;
/** Each has a connection of its own. */
const PROBES_AT_ONCE = 32;
const REST_MS = 1000;
/** Leaves the test time to come to rest, and to say what happened. */
const STORY_MS = 20_000;

/**
 * One story with its own names, clients and history. It ends at rest: everything can be had again, Redis has
 * nothing left of it, and all invariants hold over what its clients saw.
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
  private faultCount = 0;

  constructor(
    readonly fleet: Fleet<FleetStore>,
    private readonly title: string,
    /** A member that stays up and can reach Redis at the end. */
    private readonly witness: Member,
  ) {
    this.recorder = new Recorder(title, this.sink);
    this.observer = new Observer(fleet.redis, this.recorder, witness.address);
  }

  /** A lock of this story's own; looking at it costs Redis commands that a test may want to count. */
  lock(label: string, watched = true): string {
    return this.resource('lock', label, watched);
  }

  /** A semaphore of this story's own, with its limit set. */
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

  /** Somebody who sets limits and deletes semaphores; goes on at the witness where the member is gone. */
  operator(label: string, member: Member): Operator {
    const operator = new Operator(member.address, this.witness, new Recorder(label, this.sink));
    this.operators.push(operator);
    return operator;
  }

  /** Runs when the story is at rest, or has failed. */
  atEnd(end: () => Promise<void>): void {
    this.endings.push(end);
  }

  /** What another process writes belongs to this story. */
  include(events: () => readonly HistoryEvent[]): void {
    this.sources.push(events);
  }

  /** Written just before a client is killed. */
  willKill(client: string): void {
    this.recorder.record({ type: 'killed', client });
  }

  /** Marks the beginning of a fault; what it returns marks the end. */
  fault(kind: FaultKind, what: string, scope: FaultScope = {}): () => void {
    this.faultCount += 1;
    const fault = `${this.title} ${this.faultCount}`;
    this.recorder.record({ type: 'fault_started', fault, kind, what, ...scope });
    return () => void this.recorder.record({ type: 'fault_ended', fault });
  }

  /** A fault that is over when it is noticed. */
  past(kind: FaultKind, what: string, from: Micros, to: Micros): void {
    this.faultCount += 1;
    const fault = `${this.title} ${this.faultCount}`;
    this.recorder.record({ type: 'fault_started', fault, kind, what }, from);
    this.recorder.record({ type: 'fault_ended', fault }, to);
  }

  /** A fault of an instant. */
  instant(kind: FaultKind, what: string, scope: FaultScope = {}): void {
    this.fault(kind, what, scope)();
  }

  history(): History {
    return mergeHistories(this.sink.events, ...this.sources.map((events) => events()));
  }

  /**
   * Waits until whatever nobody renews has ended, and looks at what is left. A store that was set back may have waiters
   * again whose calls are over: they are offered their permits once more, for which the probes then wait.
   */
  async comeToRest(probesWaitMs = 0): Promise<void> {
    const ttls = this.history().flatMap((event) => ('ttlUs' in event ? [event.ttlUs ?? 0] : []));
    await sleep(Math.max(0, ...ttls) / 1000 + REST_MS);
    await this.observer.stop();
    for (let next = 0; next < this.resources.length; next += PROBES_AT_ONCE) {
      const some = this.resources.slice(next, next + PROBES_AT_ONCE);
      await Promise.all(some.map((resource) => this.probe(resource, probesWaitMs)));
    }
    const keys = await Promise.all(this.resources.map((resource) => residueOf(this.fleet.redis, resource)));
    this.recorder.record({ type: 'residue_observed', when: 'rest', keys: keys.flat(), gauges: {} });
  }

  async close(): Promise<void> {
    await this.observer.stop();
    for (const end of this.endings) await end();
    for (const one of [...this.clients, ...this.operators, this.observer]) one.close();
  }

  private resource(service: Service, label: string, watched: boolean): string {
    const name = `${this.title} ${label}`;
    this.resources.push({ service, name });
    this.observer.know({ service, name });
    if (watched) this.observer.watchName(name);
    return name;
  }

  /** Takes all that can be had of a name, and gives it back. Of a pause or a deleted one there is nothing. */
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

export interface StoryOptions extends CheckAllOptions {
  readonly fleet: Fleet;
  readonly title: string;
  readonly witness?: Member;
  /** How long it may take without its rest. */
  readonly limitMs?: number;
}

/** Runs a story to its end and checks all invariants over it; a failure shows the end of its history. */
export async function story(
  { fleet, title, witness = fleet.member(0), limitMs = STORY_MS, ...checks }: StoryOptions,
  tell: (scenario: Scenario) => Promise<void>,
): Promise<void> {
  const scenario = new Scenario(fleet, title, witness);
  try {
    await within(limitMs, tell(scenario));
    await scenario.comeToRest();
  } catch (error) {
    const told = scenario.history().filter(({ type }) => !type.endsWith('_observed'));
    const shown = told.slice(-SHOWN_EVENTS);
    throw new Error(`${(error as Error).message}\n${formatTrace(shown)}`, { cause: error });
  } finally {
    await scenario.close();
  }
  expectInvariantsToHold(scenario.history(), checks);
}

/** A server whose machine stood still may just be closing connections; any other word is an answer. */
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
    timer = setTimeout(() => reject(new Error(`the story did not end within ${limitMs} ms`)), limitMs);
  });
  await Promise.race([work, limit]).finally(() => clearTimeout(timer));
}
