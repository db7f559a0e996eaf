import { oneOf, type Random } from '../../support/random';
import { ClientProcess, type ClientProcessOptions } from '../client-process';
import type { Scenario } from '../scenario';
import type { TrafficTask } from './traffic/traffic';

/** The time limit of a worker's last session after the end of the traffic. */
const LAST_SESSION_MS = 30_000;

export type ProcessTask = Omit<TrafficTask, 'call' | 'client' | 'forMs'>;

/** The client processes of a round. A new process replaces a killed process. */
export class ClientProcesses {
  private started = 0;
  private readonly running = new Set<ClientProcess>();

  constructor(
    private readonly scenario: Scenario,
    private readonly task: ProcessTask,
    private readonly options: ClientProcessOptions,
    /** The end of the traffic, by `performance.now()`. */
    private readonly until: number,
  ) {}

  async start(): Promise<void> {
    this.started += 1;
    const client = await ClientProcess.start(
      this.scenario,
      {
        ...this.task,
        call: 'traffic',
        client: `p${this.started}`,
        seed: this.task.seed + this.started,
        forMs: Math.max(500, this.until - performance.now()),
      },
      this.options,
    );
    this.running.add(client);
  }

  /** A random process that is still running. */
  random(random: Random): ClientProcess | undefined {
    const alive = [...this.running].filter((client) => !client.hasEnded);
    return alive.length === 0 ? undefined : oneOf(random, alive);
  }

  /** The numbers of open calls and held leases of a process, by its recent events. Older calls have ended. */
  openCalls(client: ClientProcess): Readonly<Record<'calls cut short' | 'leases held', number>> {
    const open = new Set<string>();
    const held = new Set<string>();
    for (const event of client.lately()) {
      if (event.type === 'asked') open.add(event.call);
      if (event.type === 'ended' || event.type === 'cancelled') open.delete(event.call);
      if (event.type === 'granted') held.add(event.lease);
      if (event.type === 'release_asked' || event.type === 'lost' || event.type === 'let_go')
        held.delete(event.lease);
    }
    return { 'calls cut short': open.size, 'leases held': held.size };
  }

  /** The number of clients of a process that use sessions, by its recent events. */
  sessionClients(client: ClientProcess): number {
    const found = new Set<string>();
    for (const event of client.lately()) {
      if (event.type === 'session_opened' || ('heartbeat' in event && event.heartbeat !== undefined))
        found.add(event.client);
    }
    return found.size;
  }

  async replace(client: ClientProcess): Promise<void> {
    this.running.delete(client);
    client.kill();
    await this.start();
  }

  /** The number of client processes. */
  get size(): number {
    return this.running.size;
  }

  killAll(): void {
    for (const client of this.running) if (!client.hasEnded) client.kill();
  }

  /** Replaces all processes after `killAll`. */
  async refill(): Promise<void> {
    const { size } = this.running;
    this.running.clear();
    await Promise.all(Array.from({ length: size }, () => this.start()));
  }

  async finished(): Promise<void> {
    const left = Math.max(0, this.until - performance.now()) + LAST_SESSION_MS;
    await Promise.all([...this.running].map((client) => client.finished(left)));
  }
}
