import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Program } from '../../test/support/toolchains';

/** The tasks of a load program. Each task takes one value and answers one value. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- The input of a task may have any type.
export type Tasks = Record<string, (input: any) => Promise<unknown>>;

/** A line of the input of a load program. */
export interface TaskCall {
  readonly id: number;
  readonly task: string;
  readonly input: unknown;
}

/** A line of the output of a load program: the answer to a task, or an event that belongs to no task. */
export type TaskReply =
  | { readonly id: number; readonly output?: unknown }
  | { readonly id: number; readonly failure: string }
  | { readonly event: unknown };

interface Pending {
  resolve(output: unknown): void;
  reject(error: Error): void;
}

/** A program of the folder bench/load. */
export function loadProgram(name: string): Program {
  return { command: [process.execPath, join(__dirname, '..', 'load', `${name}.js`)] };
}

/**
 * A process that makes load, in any language. The calls and answers of its tasks are lines of JSON. Its CPU time does not
 * count for a measured process. A load program ends with its input, so the process ends with this process.
 */
export class LoadProcess<T extends Tasks> {
  private readonly child: ChildProcess;
  private readonly pending = new Map<number, Pending>();
  private lastId = 0;
  private onEvent: (event: unknown) => void = () => undefined;

  /** `program` names a file in bench/load, or is a program in another language. */
  constructor(program: string | Program) {
    const { command, env } = typeof program === 'string' ? loadProgram(program) : program;
    const [file, ...args] = command;
    this.child = spawn(file, args, {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, ...env },
    });
    this.child.on('error', (error) => this.failAll(error));
    this.child.on('exit', (code, signal) =>
      this.failAll(new Error(`the load process ${command.join(' ')} ended: ${signal ?? code}`)),
    );
    this.child.stdin?.on('error', () => undefined); // The event 'exit' follows.
    if (this.child.stdout === null) throw new Error('a load process without output');
    createInterface({ input: this.child.stdout }).on('line', (line) =>
      this.receive(JSON.parse(line) as TaskReply),
    );
  }

  ask<Name extends keyof T & string>(
    task: Name,
    input: Parameters<T[Name]>[0],
  ): Promise<Awaited<ReturnType<T[Name]>>> {
    const id = ++this.lastId;
    return new Promise((resolve, reject) => {
      this.pending.set(id, { resolve, reject });
      const call: TaskCall = { id, task, input };
      this.child.stdin?.write(`${JSON.stringify(call)}\n`);
    });
  }

  /** Calls the listener with each further event of the program. */
  listen<Event>(listener: (event: Event) => void): void {
    this.onEvent = (event) => listener(event as Event);
  }

  end(): void {
    this.child.removeAllListeners('exit');
    this.child.kill('SIGKILL');
  }

  private receive(reply: TaskReply): void {
    if ('event' in reply) return this.onEvent(reply.event);
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
  readonly processes: readonly LoadProcess<T>[];
  /** The first process, for tasks of a single process. */
  readonly first: LoadProcess<T>;

  constructor(program: string, count: number) {
    this.first = new LoadProcess<T>(program);
    const others = Array.from({ length: count - 1 }, () => new LoadProcess<T>(program));
    this.processes = [this.first, ...others];
  }

  /** Sends each process its own input at the same time. Resolves when all are done. */
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
