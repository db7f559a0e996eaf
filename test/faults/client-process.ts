import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ChildSupervisor, type ChildExit } from '../../src/dev/child-supervisor';
import { eventually } from '../support/eventually';
import type { HistoryEvent } from '../support/history';
import { readHistoryFile, readHistoryTail } from '../support/history-recorder';
import { lifeline } from '../support/processes/lifeline';
import { clientsIn, type ClientTask } from './client-program';
import type { Scenario } from './scenario';

/** As it is built, be this file built itself or not. */
const PROGRAM = [join(__dirname, '..', '..', 'dist', 'test', 'faults'), __dirname]
  .map((folder) => join(folder, 'client-program.js'))
  .find(existsSync);

/** What many workers write in several seconds. */
const LATELY_BYTES = 1_000_000;

type Event<Type extends HistoryEvent['type']> = Extract<HistoryEvent, { type: Type }>;

/** The story that they belong to. */
type Scene = Pick<Scenario, 'include' | 'atEnd' | 'willKill' | 'fault'>;

export interface ClientProcessOptions {
  /** More of its environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Default: the built client-program.js of this tree. */
  readonly program?: string;
}

/** Clients that can be killed and stopped; what they saw is part of the story's history. */
export class ClientProcess {
  /** Who the history says they are. */
  readonly clients: readonly string[];
  private exit: ChildExit | undefined;
  private readonly output: string[] = [];
  private readonly guard: ChildSupervisor;
  /** All that it wrote, once it can write no more. */
  private whole: readonly HistoryEvent[] | undefined;

  private constructor(
    private readonly scene: Scene,
    task: ClientTask,
    private readonly historyFile: string,
    { env = {}, program = PROGRAM }: ClientProcessOptions,
  ) {
    if (program === undefined) throw new Error('client-program.js is missing: run "npm run build"');
    this.clients = clientsIn(task);
    this.guard = new ChildSupervisor({
      command: process.execPath,
      args: [program, JSON.stringify(task), historyFile],
      env: { PATH: process.env['PATH'], ...env },
      graceMs: 0,
      ...lifeline(),
      onExit: (exit) => (this.exit = exit),
      onOutput: (...pipes) => {
        for (const input of pipes) createInterface({ input }).on('line', (line) => this.output.push(line));
      },
    });
  }

  static async start(
    scene: Scene,
    task: ClientTask,
    options: ClientProcessOptions = {},
  ): Promise<ClientProcess> {
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-test-client-'));
    const client = new ClientProcess(scene, task, join(folder, 'history.jsonl'), options);
    scene.include(() => client.events());
    scene.atEnd(async () => {
      await client.guard.end();
      client.whole = client.events();
      await rm(folder, { recursive: true });
    });
    await client.guard.start();
    return client;
  }

  get name(): string {
    return this.clients.join(', ');
  }

  /** Waits for the end of what it does; fails if that was no good end. */
  async finished(timeoutMs: number): Promise<void> {
    const exit = await eventually(`${this.name} to finish`, () => this.exit, { timeoutMs });
    if (exit.code !== 0) throw new Error(`${this.name} ended badly:\n${this.output.join('\n')}`);
  }

  /** Waits for what it writes of this type; the first. */
  async said<Type extends HistoryEvent['type']>(type: Type): Promise<Event<Type>> {
    return eventually(
      `${this.name} to say ${type}`,
      () => this.events().find((event): event is Event<Type> => event.type === type),
      { timeoutMs: 15_000 },
    );
  }

  events(): readonly HistoryEvent[] {
    if (this.whole !== undefined) return this.whole;
    try {
      return readHistoryFile(this.historyFile);
    } catch {
      return []; // it has not come to writing yet
    }
  }

  /** The last of what it has written; to read all would keep the test from what it is at. */
  lately(): readonly HistoryEvent[] {
    try {
      return readHistoryTail(this.historyFile, LATELY_BYTES);
    } catch {
      return []; // it has not come to writing yet
    }
  }

  get hasEnded(): boolean {
    return this.exit !== undefined;
  }

  kill(): void {
    for (const client of this.clients) this.scene.willKill(client);
    this.signal('SIGKILL');
  }

  /** SIGSTOP until the function that this answers is called. */
  stop(): () => void {
    const end = this.scene.fault('client_stopped', 'SIGSTOP', { clients: this.clients });
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
