import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { Redis } from 'ioredis';
import { type ChildExit, ChildSupervisor } from '../../src/dev/child-supervisor';
import { eventually } from '../support/eventually';
import { lifeline } from '../support/processes/run-guard';

export const PROGRAM = resolve(__dirname, '../../dist/src/cli/main.js');
export const LONG_WAIT = { timeoutMs: 20_000 };

/** `holdfast dev`, the program behind `npm start`, run as a child process. */
export class Started {
  readonly output: string[] = [];
  exit: ChildExit | undefined;
  readonly supervisor: ChildSupervisor;

  constructor(
    folder: string,
    { env = {}, args = [PROGRAM, 'dev'] }: { env?: NodeJS.ProcessEnv; args?: string[] } = {},
  ) {
    const { HOLDFAST_REDIS_URL: _configured, npm_lifecycle_event: _npm, ...inherited } = process.env;
    this.supervisor = new ChildSupervisor({
      command: process.execPath,
      args,
      cwd: folder,
      env: { ...inherited, HOLDFAST_LISTEN: '127.0.0.1:0', HOLDFAST_ADMIN_LISTEN: 'off', ...env },
      graceMs: 0,
      ...lifeline(),
      onExit: (exit) => (this.exit = exit),
      onOutput: (...pipes) => {
        for (const input of pipes) createInterface({ input }).on('line', (line) => this.output.push(line));
      },
    });
  }

  /** Waits for the end of the banner and for the log line "listening". The order of the two is not fixed. */
  async ready(): Promise<this> {
    await this.supervisor.start();
    const printed = (text: string): boolean => this.text.includes(text);
    const isUp = (): boolean =>
      this.exit !== undefined || (printed('Ctrl-C drains') && printed('"listening"'));
    await eventually('the banner', isUp, LONG_WAIT);
    if (this.exit) throw new Error(`npm start ended:\n${this.text}`);
    return this;
  }

  async ended(): Promise<ChildExit> {
    return eventually('the end', () => this.exit, LONG_WAIT);
  }

  get text(): string {
    return this.output.join('\n');
  }

  /** The process id of the server, read from its log. */
  get serverPid(): number {
    return Number(/"pid":(\d+)/.exec(this.text)?.[1]);
  }
}

/** Works with the Redis that `holdfast dev` runs in the folder. */
export async function onRedis<T>(folder: string, work: (client: Redis) => Promise<T>): Promise<T> {
  const socket = join(folder, '.holdfast', 'redis.sock');
  const client = new Redis(socket, { maxRetriesPerRequest: 0, disconnectTimeout: 50 });
  client.on('error', () => undefined);
  try {
    return await work(client);
  } finally {
    client.disconnect();
  }
}

export async function redisPid(folder: string): Promise<number> {
  const info = await onRedis(folder, (client) => client.info('server'));
  return Number(/process_id:(\d+)/.exec(info)?.[1]);
}
