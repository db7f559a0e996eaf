import { oneOf, type Random } from '../../support/random';
import { ClientProcess, type ClientProcessOptions } from '../client-process';
import type { Scenario } from '../scenario';
import type { TrafficTask } from './traffic/traffic';

/** Past the end of the traffic a worker may still be at a call that is not answered, or at its last tries. */
const LAST_SESSION_MS = 30_000;

export type CrowdTask = Omit<TrafficTask, 'call' | 'client' | 'forMs'>;

/** The client processes of a round; one that is killed is replaced by another. */
export class Crowd {
  private started = 0;
  private readonly running = new Set<ClientProcess>();

  constructor(
    private readonly scenario: Scenario,
    private readonly task: CrowdTask,
    private readonly options: ClientProcessOptions,
    /** When its traffic ends, by `performance.now()`. */
    private readonly until: number,
  ) {}

  async join(): Promise<void> {
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

  /** One that still works. */
  any(random: Random): ClientProcess | undefined {
    const alive = [...this.running].filter((client) => !client.hasEnded);
    return alive.length === 0 ? undefined : oneOf(random, alive);
  }

  /** What a process is in the middle of, by what it has written of late: what it began long ago has ended. */
  openCalls(client: ClientProcess): Readonly<Record<'calls cut short' | 'leases held', number>> {
    const open = new Set<string>();
    const held = new Set<string>();
    for (const event of client.lately()) {
      if (event.type === 'asked') open.add(event.call);
      if (event.type === 'ended' || event.type === 'cancelled') open.delete(event.call);
      if (event.type === 'granted') held.add(event.lease);
      if (event.type === 'release_asked' || event.type === 'lost') held.delete(event.lease);
    }
    return { 'calls cut short': open.size, 'leases held': held.size };
  }

  async replace(client: ClientProcess): Promise<void> {
    this.running.delete(client);
    client.kill();
    await this.join();
  }

  /** Of all that work. */
  get size(): number {
    return this.running.size;
  }

  killAll(): void {
    for (const client of this.running) if (!client.hasEnded) client.kill();
  }

  /** Others in the place of those that have been killed. */
  async refill(): Promise<void> {
    const { size } = this.running;
    this.running.clear();
    await Promise.all(Array.from({ length: size }, () => this.join()));
  }

  async finished(): Promise<void> {
    const left = Math.max(0, this.until - performance.now()) + LAST_SESSION_MS;
    await Promise.all([...this.running].map((client) => client.finished(left)));
  }
}
