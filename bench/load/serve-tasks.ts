import type { TaskCall, TaskReply, Tasks } from '../support/load-process';

/** Runs the tasks that the parent process requests. Exits when the parent has ended. */
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
  // The callback ignores the error of a parent that has just ended. The 'disconnect' event then ends this process.
  process.send?.(message, undefined, undefined, () => undefined);
}
