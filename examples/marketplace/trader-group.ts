import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Assignment, FromTraders, ToTraders } from './messages';
import { sumOf, type Tally } from './tally';

/** Several processes of traders, which all come, trade and leave together. They end with this process. */
export class TraderGroup {
  private readonly children: readonly ChildProcess[];

  constructor(processes: number) {
    const program = join(__dirname, 'trader-process.js');
    this.children = Array.from({ length: processes }, () => fork(program));
  }

  /** Resolves when all of them have their connections. */
  async come(assignment: Omit<Assignment, 'process'>): Promise<void> {
    await this.askAll((process) => ({ kind: 'come', assignment: { ...assignment, process } }));
  }

  /** Opens the market; resolves when it is closed and the last one is through. */
  async trade(): Promise<Tally> {
    const answers = await this.askAll(() => ({ kind: 'open' }));
    return sumOf(answers.flatMap((answer) => (answer.kind === 'done' ? [answer.tally] : [])));
  }

  /** Closes the market before its time. */
  close(): void {
    // The callback takes the error of a process that has just ended: whoever waits for its answer is told.
    for (const child of this.children) child.send({ kind: 'close' } satisfies ToTraders, () => undefined);
  }

  /** Resolves when they are gone, and can write nothing any more. */
  async leave(): Promise<void> {
    await Promise.all(this.children.map(end));
  }

  private askAll(messageFor: (index: number) => ToTraders): Promise<FromTraders[]> {
    return Promise.all(this.children.map((child, index) => ask(child, messageFor(index))));
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
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
