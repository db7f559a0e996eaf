import { constants, setPriority } from 'node:os';
import { createInterface } from 'node:readline';
import type { TaskCall, TaskReply, Tasks } from '../support/load-process';

export function reply(message: TaskReply): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

/** Runs the tasks that the lines of the input request. Exits at the end of the input. */
export function serveTasks(tasks: Tasks): void {
  const lines = createInterface({ input: process.stdin });
  lines.on('line', (line) => {
    const { id, task, input } = JSON.parse(line) as TaskCall;
    const failed = (error: unknown) =>
      reply({ id, failure: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    carryOut(tasks, task, input).then((output) => reply({ id, output }), failed);
  });
  lines.on('close', () => process.exit());
}

/** The same with a low priority, so that a measured process need not wait for a core. */
export function serveInBackground(tasks: Tasks): void {
  setPriority(constants.priority.PRIORITY_LOW);
  serveTasks(tasks);
}

async function carryOut(tasks: Tasks, task: string, input: unknown): Promise<unknown> {
  const run = tasks[task];
  if (run === undefined) throw new Error(`no such task: ${task}`);
  return run(input);
}
