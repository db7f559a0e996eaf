import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from '../support/eventually';
import type { HistoryEvent } from '../support/history';
import { readHistoryFile, readHistoryTail } from '../support/history-recorder';
import { ChildProgram, inheritedEnvironment } from '../support/processes/child-program';
import { makeScratchFolder } from '../support/scratch-folder';
import { ROOT } from '../support/root';
import { clientsIn, type ClientTask } from './client-program';
import type { Scenario } from './scenario';
import { HEARTBEAT_SIGNAL } from './suite/traffic/heartbeat-signals';

const PROGRAM = join(ROOT, 'dist', 'test', 'faults', 'client-program.js');

/** How many bytes are read from the end of a history file. Many workers together write less in several seconds. */
const RECENT_BYTES = 1_000_000;
const EVENT_TIMEOUT_MS = 60_000;

type Event<Type extends HistoryEvent['type']> = Extract<HistoryEvent, { type: Type }>;

type Scene = Pick<Scenario, 'include' | 'atEnd' | 'willKill' | 'fault'>;

export interface ClientProcessOptions {
  /** Added to the environment of the process. */
  readonly env?: Readonly<Record<string, string>>;
  /** Default: the built client-program.js of this tree. */
  readonly program?: string;
}

/** A process with clients that a test can kill and stop. Their history becomes part of the scenario's history. */
export class ClientProcess {
  /** The names of the clients in the history. */
  readonly clients: readonly string[];
  private readonly child: ChildProgram;
  /** The whole history, read once after the end of the process. */
  private whole: readonly HistoryEvent[] | undefined;

  private constructor(
    private readonly scene: Scene,
    task: ClientTask,
    private readonly historyFile: string,
    { env = {}, program = PROGRAM }: ClientProcessOptions,
  ) {
    if (!existsSync(program)) throw new Error(`${program} is missing: run "npm run build"`);
    this.clients = clientsIn(task);
    this.child = new ChildProgram({
      label: this.name,
      args: [program, JSON.stringify(task), historyFile],
      env: { ...inheritedEnvironment(), ...env },
    });
  }

  static async start(
    scene: Scene,
    task: ClientTask,
    options: ClientProcessOptions = {},
  ): Promise<ClientProcess> {
    const folder = makeScratchFolder('client');
    const client = new ClientProcess(scene, task, join(folder, 'history.jsonl'), options);
    scene.include(() => client.events());
    scene.atEnd(async () => {
      await client.child.close();
      client.whole = client.events();
      await rm(folder, { recursive: true });
    });
    await client.child.start();
    return client;
  }

  get name(): string {
    return this.clients.join(', ');
  }

  /** Waits until the task is done. Throws if the process failed. */
  async finished(timeoutMs: number): Promise<void> {
    const { code } = await this.child.ended(timeoutMs);
    if (code !== 0) throw new Error(`${this.name} failed:\n${this.child.output.join('\n')}`);
  }

  /** Waits for the first event of this type in the history. */
  async said<Type extends HistoryEvent['type']>(type: Type): Promise<Event<Type>> {
    return eventually(
      `a ${type} event of ${this.name}`,
      () => this.events().find((event): event is Event<Type> => event.type === type),
      { timeoutMs: EVENT_TIMEOUT_MS },
    );
  }

  events(): readonly HistoryEvent[] {
    if (this.whole !== undefined) return this.whole;
    try {
      return readHistoryFile(this.historyFile);
    } catch {
      return []; // The process has not created the file yet.
    }
  }

  /** The last events of the history. Reading the whole file takes too long for a test. */
  lately(): readonly HistoryEvent[] {
    try {
      return readHistoryTail(this.historyFile, RECENT_BYTES);
    } catch {
      return []; // The process has not created the file yet.
    }
  }

  get hasEnded(): boolean {
    return this.child.exit !== undefined;
  }

  kill(): void {
    for (const client of this.clients) this.scene.willKill(client);
    this.child.signal('SIGKILL');
  }

  /** Disturbs the heartbeats of the process's sessions. The returned function ends the disturbance. */
  disturbHeartbeats(): () => void {
    this.child.signal(HEARTBEAT_SIGNAL);
    return () => this.child.signal(HEARTBEAT_SIGNAL);
  }

  /** Stops the process with SIGSTOP. The returned function continues the process. */
  stop(): () => void {
    const end = this.scene.fault('client_stopped', 'SIGSTOP', { clients: this.clients });
    this.child.signal('SIGSTOP');
    return () => {
      this.child.signal('SIGCONT');
      end();
    };
  }
}
