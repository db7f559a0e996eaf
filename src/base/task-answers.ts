import { setPriority } from 'node:os';
import { parentPort, type Transferable } from 'node:worker_threads';
import type { AnswerMessage, CallMessage, NameOf, TasksOf } from './task-calls';

/** The part of a TaskThread that runs in the thread. */

export type Answering<Calls extends TasksOf<Calls>> = {
  readonly [Name in NameOf<Calls>]: (value: Calls[Name]['takes']) => Calls[Name]['answers'];
};

/**
 * Answers the calls of a TaskThread. The buffers that `transferOf` returns for an answer belong to the caller afterwards.
 */
export function answerTasks<Calls extends TasksOf<Calls>>(
  calls: Answering<Calls>,
  transferOf: (answer: Calls[NameOf<Calls>]['answers']) => readonly Transferable[] = () => [],
): void {
  parentPort?.on('message', ({ id, name, value }: CallMessage<Calls>) => {
    const post = (message: AnswerMessage, transfer: readonly Transferable[]) =>
      parentPort?.postMessage(message, transfer);
    try {
      const answer = calls[name](value);
      post({ id, value: answer, error: undefined }, transferOf(answer));
    } catch (error) {
      post({ id, value: undefined, error: error as Error }, []);
    }
  });
  // The call cannot be answered, so the thread ends.
  parentPort?.on('messageerror', (error) => {
    throw error;
  });
}

/** @param nice The priority of this thread for the system: 0 normal, 19 lowest. */
export function setThreadPriority(nice: number): void {
  try {
    // On Linux, 0 means this thread. On other systems, 0 means the whole process, and no call lowers the priority of
    // one thread.
    if (process.platform === 'linux') setPriority(0, nice);
  } catch {
    // The system does not permit another priority.
  }
}
