import { setPriority } from 'node:os';
import { join, relative } from 'node:path';
import { parentPort, type Transferable, Worker } from 'node:worker_threads';

/** The messages between a TaskThread and the module that the thread runs. */

/** What a call takes, and what the thread answers. */
interface Task {
  readonly takes: unknown;
  readonly answers: unknown;
}

/** The calls of a thread by name. */
type TasksOf<Calls> = { readonly [Name in keyof Calls]: Task };

type NameOf<Calls> = keyof Calls & string;

interface CallMessage<Calls extends TasksOf<Calls>, Name extends NameOf<Calls> = NameOf<Calls>> {
  readonly id: number;
  readonly name: Name;
  readonly value: Calls[Name]['takes'];
}

interface AnswerMessage {
  readonly id: number;
  readonly value: unknown;
  /** Set if the call failed. */
  readonly error: Error | undefined;
}

/** The thread was closed, or ended before it answered a call. */
export class ThreadLost extends Error {
  override readonly name = 'ThreadLost';
}

interface OpenCall {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

const ROOT = join(__dirname, '..', '..');

/** Worker threads run compiled JavaScript. The tests run TypeScript, and start the compiled file. */
function compiledFile(module: string): string {
  return __filename.endsWith('.ts') ? join(ROOT, 'dist', `${relative(ROOT, module)}.js`) : `${module}.js`;
}

/**
 * A worker thread that carries out one call after another. The thread starts with the first call, and again with the
 * first call after its loss. A thread without calls does not keep the process alive.
 */
export class TaskThread<Calls extends TasksOf<Calls>> {
  private worker: Worker | undefined;
  private readonly calls = new Map<number, OpenCall>();
  private lastId = 0;
  private losses = 0;
  private isClosed = false;

  /** @param module The path of the module that the thread runs, without extension. The module calls `answerTasks`. */
  constructor(
    private readonly module: string,
    private readonly settings: unknown,
  ) {}

  /** How often the thread has ended. A thread that starts again knows nothing of earlier calls. */
  get lossCount(): number {
    return this.losses;
  }

  /** Rejects with the error of the thread, or with `ThreadLost`. The buffers in `transfer` belong to the thread now. */
  call<Name extends NameOf<Calls>>(
    name: Name,
    value: Calls[Name]['takes'],
    transfer: readonly Transferable[] = [],
  ): Promise<Calls[Name]['answers']> {
    if (this.isClosed) return Promise.reject(new ThreadLost('the thread was closed'));
    const worker = this.started();
    const id = ++this.lastId;
    return new Promise((resolve, reject) => {
      // A value that cannot be sent rejects the call here.
      worker.postMessage({ id, name, value } satisfies CallMessage<Calls, Name>, transfer);
      this.calls.set(id, { resolve, reject });
      if (this.calls.size === 1) worker.ref();
    });
  }

  /** Ends the thread for ever. */
  async close(): Promise<void> {
    this.isClosed = true;
    await this.worker?.terminate();
  }

  private started(): Worker {
    if (this.worker) return this.worker;
    const worker = new Worker(compiledFile(this.module), { workerData: this.settings });
    worker.on('message', ({ id, value, error }: AnswerMessage) => {
      const call = this.calls.get(id);
      this.calls.delete(id);
      if (this.calls.size === 0) worker.unref();
      if (error) call?.reject(error);
      else call?.resolve(value);
    });
    let cause: unknown;
    worker.on('error', (error) => (cause = error));
    // Without its answer, a call would wait for ever.
    worker.on('messageerror', (error) => {
      cause = error;
      void worker.terminate();
    });
    worker.on('exit', (code) =>
      this.lost(worker, new ThreadLost(`the thread ended with code ${code}`, { cause })),
    );
    worker.unref();
    this.worker = worker;
    return worker;
  }

  private lost(worker: Worker, error: ThreadLost): void {
    if (this.worker !== worker) return;
    this.worker = undefined;
    this.losses += 1;
    const calls = [...this.calls.values()];
    this.calls.clear();
    for (const call of calls) call.reject(error);
  }
}

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
