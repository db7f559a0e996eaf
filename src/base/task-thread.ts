import { join, relative } from 'node:path';
import { Worker, type Transferable } from 'node:worker_threads';
import type { AnswerMessage, CallMessage, NameOf, TasksOf } from './task-calls';

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
  #worker: Worker | undefined;
  readonly #calls = new Map<number, OpenCall>();
  #lastId = 0;
  #lossCount = 0;
  #isClosed = false;

  /** @param module The path of the module that the thread runs, without extension. The module calls `answerTasks`. */
  constructor(
    private readonly module: string,
    private readonly settings: unknown,
  ) {}

  /** How often the thread has ended. A thread that starts again knows nothing of earlier calls. */
  get lossCount(): number {
    return this.#lossCount;
  }

  /** Rejects with the error of the thread, or with `ThreadLost`. The buffers in `transfer` belong to the thread now. */
  call<Name extends NameOf<Calls>>(
    name: Name,
    value: Calls[Name]['takes'],
    transfer: readonly Transferable[] = [],
  ): Promise<Calls[Name]['answers']> {
    if (this.#isClosed) return Promise.reject(new ThreadLost('the thread was closed'));
    const worker = this.#started();
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      // A value that cannot be sent rejects the call here.
      worker.postMessage({ id, name, value } satisfies CallMessage<Calls, Name>, transfer);
      this.#calls.set(id, { resolve, reject });
      if (this.#calls.size === 1) worker.ref();
    });
  }

  /** Ends the thread for ever. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#worker?.terminate();
  }

  #started(): Worker {
    if (this.#worker) return this.#worker;
    const worker = new Worker(compiledFile(this.module), { workerData: this.settings });
    worker.on('message', ({ id, value, error }: AnswerMessage) => {
      const call = this.#calls.get(id);
      this.#calls.delete(id);
      if (this.#calls.size === 0) worker.unref();
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
      this.#lost(worker, new ThreadLost(`the thread ended with code ${code}`, { cause })),
    );
    worker.unref();
    this.#worker = worker;
    return worker;
  }

  #lost(worker: Worker, error: ThreadLost): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    this.#lossCount += 1;
    const calls = [...this.#calls.values()];
    this.#calls.clear();
    for (const call of calls) call.reject(error);
  }
}
