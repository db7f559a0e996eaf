import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../root';

const PROGRAM = join(ROOT, 'test', 'support', 'processes', 'guard.cjs');

/** The variable with the socket of the guard. Servers refuse unknown variables with the prefix HOLDFAST_. */
const VARIABLE = 'TEST_RUN_GUARD';

/** Starts the guard of this process and of the processes that it starts from now on (guard.cjs). */
export async function startGuard(): Promise<string> {
  const path = join(tmpdir(), `holdfast-test-${process.pid}-${randomUUID().slice(0, 8)}.sock`);
  const guard = fork(PROGRAM, [path], {
    detached: true,
    // The empty list replaces the inherited arguments, which may contain a debugger's port or a test runner's flags.
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const isReady = await Promise.race([once(guard, 'message').then(() => true), once(guard, 'exit')]);
  if (isReady !== true) throw new Error('the guard of the test run has ended at its start');
  guard.unref();
  guard.channel?.unref();
  return path;
}

export function announceGuard(path: string): void {
  process.env[VARIABLE] = path;
}

/** The guard's socket, to which `ChildSupervisor` may connect. A test run without global setup has none. */
export function lifeline(): { readonly lifeline?: string } {
  const path = process.env[VARIABLE];
  return path === undefined ? {} : { lifeline: path };
}

/** The guard of a process without a test run, such as the fault suite. */
let own: Promise<string> | undefined;
let connection: Promise<Socket> | undefined;

async function open(): Promise<Socket> {
  const socket = connect(process.env[VARIABLE] ?? (await (own ??= startGuard())));
  await once(socket, 'connect');
  // Programs that run already go on without the guard.
  return socket.on('error', () => undefined).unref();
}

/** Tells the guard what must not outlive this process. */
export class Guard {
  private constructor(private readonly socket: Socket) {}

  static async open(): Promise<Guard> {
    try {
      return new Guard(await (connection ??= open()));
    } catch (error) {
      // The next program asks again.
      connection = undefined;
      throw error;
    }
  }

  /** Call at once after the start: the guard never hears of a program whose parent is killed before. */
  runs(pid: number): void {
    this.socket.write(`runs ${pid}\n`);
  }

  ended(pid: number): void {
    this.socket.write(`ended ${pid}\n`);
  }

  made(folder: string): void {
    this.socket.write(`made ${folder}\n`);
  }

  removed(folder: string): void {
    this.socket.write(`removed ${folder}\n`);
  }
}
