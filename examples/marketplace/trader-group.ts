import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Assignment, FromTraders, ToTraders } from './messages';
import { sumOf, type Tally } from './tally';

/** Several processes of traders. They end with this process. */
export class TraderGroup {
  private readonly children: readonly ChildProcess[];

  constructor(processes: number) {
    const program = join(__dirname, 'trader-process.js');
    this.children = Array.from({ length: processes }, () => fork(program));
  }

  /** Resolves when every process has its connections. */
  async connect(assignment: Omit<Assignment, 'process'>): Promise<void> {
    await this.askAll((process) => ({ kind: 'connect', assignment: { ...assignment, process } }));
  }

  /** Opens the market. Resolves when the market is closed and every trader has finished. */
  async trade(): Promise<Tally> {
    const answers = await this.askAll(() => ({ kind: 'open' }));
    return sumOf(answers.flatMap((answer) => (answer.kind === 'done' ? [answer.tally] : [])));
  }

  /** Closes the market early. */
  close(): void {
    // The callback ignores the error of a process that has just ended, because `ask` reports this end.
    for (const child of this.children) child.send({ kind: 'close' } satisfies ToTraders, () => undefined);
  }

  /** Ends all processes. Resolves when every process has ended, so that no process can write any more. */
  async end(): Promise<void> {
    await Promise.all(this.children.map(endProcess));
  }

  private askAll(messageFor: (index: number) => ToTraders): Promise<FromTraders[]> {
    return Promise.all(this.children.map((child, index) => ask(child, messageFor(index))));
  }
}

async function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

async function ask(child: ChildProcess, message: ToTraders): Promise<FromTraders> {
  const answer = await new Promise<FromTraders>((resolve, reject) => {
    child.once('message', resolve);
    child.once('error', reject);
    child.once('exit', (code, signal) => reject(new Error(`a process of traders ended: ${signal ?? code}`)));
    child.send(message, (error) => error && reject(error));
  });
  if (answer.kind === 'failed') throw new Error(`a process of traders failed: ${answer.text}`);
  return answer;
}
