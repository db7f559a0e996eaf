import { setTimeout as sleep } from 'node:timers/promises';
import { LockClient } from '../support/lock-client';
import { expectInvariantsToHold, type CheckAllOptions } from '../support/checkers/check-all';
import { formatTrace } from '../support/checkers/violation';
import type { FaultKind, FaultStarted, History, HistoryEvent } from '../support/history';
import { MemorySink, Recorder } from '../support/history-recorder';
import type { Fleet, Member } from './fleet';
import { Observer } from './observer';
import { RecordedClient } from './recorded-client';
import { residueOf } from './residue';

type FaultScope = Partial<Pick<FaultStarted, 'clients' | 'names' | 'excuses' | 'explains' | 'graceUs'>>;

/** What a test that failed shows of its history. */
const SHOWN_EVENTS = 40;
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
  private readonly names: string[] = [];
  private readonly endings: (() => Promise<void>)[] = [];
  private faultCount = 0;

  constructor(
    readonly fleet: Fleet,
    private readonly title: string,
    /** A member that stays up and can reach Redis at the end. */
    private readonly witness: Member,
  ) {
    this.recorder = new Recorder(title, this.sink);
    this.observer = new Observer(fleet.redis, this.recorder, witness.address);
  }

  /** A lock of this story's own; looking at it costs Redis commands that a test may want to count. */
  lock(label: string, watched = true): string {
    const name = `${this.title} ${label}`;
    this.names.push(name);
    if (watched) this.observer.watchName(name);
    return name;
  }

  client(label: string, member: Member): RecordedClient {
    const client = new RecordedClient(
      `${this.title} ${label}`,
      member.address,
      new Recorder(label, this.sink),
    );
    this.clients.push(client);
    return client;
  }

  /** Runs when the story is at rest, or has failed. */
  atEnd(end: () => Promise<void>): void {
    this.endings.push(end);
  }

  /** What another process wrote belongs to this story. */
  include(events: readonly HistoryEvent[]): void {
    for (const event of events) this.sink.write(event);
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

  /** A fault of an instant. */
  instant(kind: FaultKind, what: string, scope: FaultScope = {}): void {
    this.fault(kind, what, scope)();
  }

  history(): History {
    return this.sink.history();
  }

  /** Waits until whatever nobody renews has ended, and looks at what is left. */
  async comeToRest(): Promise<void> {
    const ttls = this.history().flatMap((event) => ('ttlUs' in event ? [event.ttlUs ?? 0] : []));
    await sleep(Math.max(0, ...ttls) / 1000 + REST_MS);
    await this.observer.stop();
    const probe = new LockClient(this.witness.address);
    try {
      for (const name of this.names) {
        const lease = await probe.acquire({ name, waitMs: 0 }).catch(() => undefined);
        const obtained = lease === undefined ? 0 : 1;
        this.recorder.record({ type: 'permits_probed', name, limit: 1, obtained });
        if (lease !== undefined) await probe.release(lease.leaseId);
      }
    } finally {
      probe.close();
    }
    const keys = await Promise.all(this.names.map((name) => residueOf(this.fleet.redis, name)));
    this.recorder.record({ type: 'residue_observed', when: 'rest', keys: keys.flat(), gauges: {} });
  }

  async close(): Promise<void> {
    await this.observer.stop();
    for (const end of this.endings) await end();
    for (const client of this.clients) client.close();
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

async function within(limitMs: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`the story did not end within ${limitMs} ms`)), limitMs);
  });
  await Promise.race([work, limit]).finally(() => clearTimeout(timer));
}
