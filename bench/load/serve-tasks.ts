import type { TaskCall, TaskReply, Tasks } from '../support/load-process';

/** Carries out what the parent process asks for, until the parent is gone. */
export function serveTasks(tasks: Tasks): void {
  process.on('message', (call: TaskCall) => {
    carryOut(tasks, call).then(reply, (error: unknown) =>
      reply({
        id: call.id,
        failure: error instanceof Error ? (error.stack ?? error.message) : String(error),
      }),
    );
  });
  process.on('disconnect', () => process.exit());
}

async function carryOut(tasks: Tasks, { id, task, input }: TaskCall): Promise<TaskReply> {
  const run = tasks[task] as ((input: unknown) => Promise<unknown>) | undefined;
  if (run === undefined) throw new Error(`no such task: ${task}`);
  return { id, output: await run(input) };
}

function reply(message: TaskReply): void {
  // The callback takes the error of a parent that has just gone: 'disconnect' deals with that.
  process.send?.(message, undefined, undefined, () => undefined);
}
