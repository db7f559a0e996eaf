import { join } from 'node:path';
import { eventually } from '../support/eventually';
import { ChildProgram } from '../support/processes/child-program';
import { ROOT } from '../support/root';
import type { HolderMessage, HolderReport, HolderTask } from './lease-holder-program';

const PROGRAM = join(ROOT, 'dist', 'test', 'faults', 'lease-holder-program.js');
/** Long enough for a machine with busy cores. */
const ANSWER_TIMEOUT_MS = 90_000;

type Message<Kind extends HolderMessage['kind']> = Extract<HolderMessage, { kind: Kind }>;

/** A process with a session client that holds many locks. Its clock is not disturbed by the work of the test. */
export class LeaseHolderProcess {
  /** The fencing token of each lock, by name. */
  tokens: ReadonlyMap<string, string> = new Map();
  private readonly child: ChildProgram;
  private readonly messages: HolderMessage[] = [];

  private constructor(private readonly task: HolderTask) {
    this.child = new ChildProgram({
      label: task.holderId,
      args: [PROGRAM, JSON.stringify(task)],
      onLine: (line) => {
        if (line.startsWith('{')) this.messages.push(JSON.parse(line) as HolderMessage);
      },
    });
  }

  static async start(task: HolderTask): Promise<LeaseHolderProcess> {
    const holder = new LeaseHolderProcess(task);
    await holder.child.start();
    return holder;
  }

  /** Resolves when the process holds all locks. */
  async holdsAll(): Promise<void> {
    const { tokens } = await this.first('holds');
    this.tokens = new Map(Object.entries(tokens));
  }

  /** The locks that the client has lost, with the cause. */
  get lost(): string[] {
    const lost = this.messages.filter((one): one is Message<'lost'> => one.kind === 'lost');
    return lost.map(({ name, cause }) => `${name}: ${cause}`);
  }

  /** Releases all locks, and ends the process. */
  async release(): Promise<HolderReport> {
    this.child.signal('SIGTERM');
    const report = await this.first('report');
    await this.child.ended(ANSWER_TIMEOUT_MS);
    return report;
  }

  async close(): Promise<void> {
    await this.child.close();
  }

  private async first<Kind extends HolderMessage['kind']>(kind: Kind): Promise<Message<Kind>> {
    const find = () => this.messages.find((one): one is Message<Kind> => one.kind === kind);
    const { holderId } = this.task;
    await eventually(`${kind} of ${holderId}`, () => find() ?? this.child.exit, {
      timeoutMs: ANSWER_TIMEOUT_MS,
    });
    // The pipe may still have lines of a process that has ended.
    return eventually(`${kind} of ${holderId}, which has printed ${this.child.output.join('\n')}`, find, {
      timeoutMs: 1000,
    });
  }
}
