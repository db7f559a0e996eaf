import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Guard } from '../../src/dev/guard';
import { eventually } from '../support/eventually';
import type { HistoryEvent } from '../support/history';
import { readHistoryFile } from '../support/history-recorder';
import { lifeline } from '../support/lifeline';
import type { ClientTask } from './client-program';
import type { Scenario } from './scenario';

const PROGRAM = join(__dirname, '..', '..', 'dist', 'test', 'faults', 'client-program.js');

type Event<Type extends HistoryEvent['type']> = Extract<HistoryEvent, { type: Type }>;

/** A client that can be killed and stopped; what it saw is part of the story's history. */
export class ClientProcess {
  private constructor(
    private readonly scene: Scenario,
    private readonly guard: Guard,
    private readonly task: ClientTask,
  ) {}

  static async start(scene: Scenario, task: Omit<ClientTask, 'historyFile'>): Promise<ClientProcess> {
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-test-client-'));
    const whole = { ...task, historyFile: join(folder, 'history.jsonl') };
    const guard = new Guard({
      command: process.execPath,
      args: [PROGRAM, JSON.stringify(whole)],
      env: { PATH: process.env['PATH'] },
      graceMs: 0,
      ...lifeline(),
    });
    scene.atEnd(async () => {
      await guard.end();
      scene.include(readHistoryFile(whole.historyFile));
      await rm(folder, { recursive: true });
    });
    await guard.start();
    return new ClientProcess(scene, guard, whole);
  }

  get name(): string {
    return this.task.client;
  }

  /** Waits for what it writes of this type; the first. */
  async said<Type extends HistoryEvent['type']>(type: Type): Promise<Event<Type>> {
    return eventually(
      `${this.name} to say ${type}`,
      () => this.events().find((event): event is Event<Type> => event.type === type),
      { timeoutMs: 15_000 },
    );
  }

  events(): HistoryEvent[] {
    try {
      return readHistoryFile(this.task.historyFile);
    } catch {
      return []; // it has not come to writing yet
    }
  }

  kill(): void {
    this.scene.willKill(this.name);
    this.signal('SIGKILL');
  }

  /** SIGSTOP until the function that this answers is called. */
  stop(): () => void {
    const end = this.scene.fault('client_stopped', 'SIGSTOP', { clients: [this.name] });
    this.signal('SIGSTOP');
    return () => {
      this.signal('SIGCONT');
      end();
    };
  }

  private signal(signal: NodeJS.Signals): void {
    if (!this.guard.signal(signal)) throw new Error(`${signal}: ${this.name} has ended`);
  }
}
