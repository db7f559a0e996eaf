import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';

/** The tasks of a load program. Each task takes one message and returns one message. */
export type Tasks = Record<string, (input: never) => Promise<unknown>>;

export interface TaskCall {
  readonly id: number;
  readonly task: string;
  readonly input: unknown;
}

export type TaskReply =
  { readonly id: number; readonly output: unknown } | { readonly id: number; readonly failure: string };

interface Pending {
  resolve(output: unknown): void;
  reject(error: Error): void;
}

/** A process that makes load. Its CPU time does not count for a measured process. The process ends with this process. */
export class LoadProcess<T extends Tasks> {
  private readonly child: ChildProcess;
  private readonly pending = new Map<number, Pending>();
  private lastId = 0;

  /** `program` names a file in bench/load. */
  constructor(program: string) {
    this.child = fork(join(__dirname, '..', 'load', `${program}.js`), [], { serialization: 'advanced' });
    this.child.on('message', (reply: TaskReply) => this.settle(reply));
    this.child.on('exit', (code, signal) =>
      this.failAll(new Error(`load process ${program} ended: ${signal ?? code}`)),
    );
    this.child.on('error', (error) => this.failAll(error));
  }

  ask<Name extends keyof T & string>(
    task: Name,
    input: Parameters<T[Name]>[0],
  ): Promise<Awaited<ReturnType<T[Name]>>> {
    const id = ++this.lastId;
    return new Promise((resolve, reject) => {
      this.pending.set(id, { resolve, reject });
      const call: TaskCall = { id, task, input };
      this.child.send(call, (error) => {
        if (error) this.settle({ id, failure: error.message });
      });
    });
  }

  end(): void {
    this.child.removeAllListeners('exit');
    this.child.kill('SIGKILL');
  }

  private settle(reply: TaskReply): void {
    const pending = this.pending.get(reply.id);
    this.pending.delete(reply.id);
    if ('failure' in reply) pending?.reject(new Error(reply.failure));
    else pending?.resolve(reply.output);
  }

  private failAll(error: Error): void {
    for (const { reject } of this.pending.values()) reject(error);
    this.pending.clear();
  }
}

/** Several processes of the same program, which run the same tasks at the same time. */
export class LoadGroup<T extends Tasks> {
  private readonly processes: readonly LoadProcess<T>[];
  /** The first process, for tasks of a single process. */
  readonly first: LoadProcess<T>;

  constructor(program: string, count: number) {
    this.first = new LoadProcess<T>(program);
    const others = Array.from({ length: count - 1 }, () => new LoadProcess<T>(program));
    this.processes = [this.first, ...others];
  }

  get size(): number {
    return this.processes.length;
  }

  /** Sends each process its own message at the same time. Resolves when all are done. */
  askEach<Name extends keyof T & string>(
    task: Name,
    inputOf: (index: number) => Parameters<T[Name]>[0],
  ): Promise<Awaited<ReturnType<T[Name]>>[]> {
    return Promise.all(this.processes.map((one, index) => one.ask(task, inputOf(index))));
  }

  ask<Name extends keyof T & string>(
    task: Name,
    input: Parameters<T[Name]>[0],
  ): Promise<Awaited<ReturnType<T[Name]>>[]> {
    return this.askEach(task, () => input);
  }

  end(): void {
    for (const one of this.processes) one.end();
  }
}
