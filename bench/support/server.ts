import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { ChildSupervisor } from '../../src/dev/child-supervisor';

const START_TIMEOUT_MS = 15_000;

/** The benchmark's server as a process of its own; it ends with this process, however that ends. */
export class BenchServer {
  private constructor(
    private readonly guard: ChildSupervisor,
    readonly address: string,
  ) {}

  /** `built`: another dist/ than this one. */
  static async start(redisUrl: string, built?: string): Promise<BenchServer> {
    const { PATH, HOME, TMPDIR } = process.env;
    const inherited = Object.entries({ PATH, HOME, TMPDIR }).filter(([, value]) => value !== undefined);
    let onAddress: (address: string) => void = () => undefined;
    let onFailure: (error: Error) => void = () => undefined;
    const listening = new Promise<string>((resolve, reject) => {
      onAddress = resolve;
      onFailure = reject;
    });
    listening.catch(() => undefined); // until it is waited for, below
    const said: string[] = [];
    const hear = (line: string): void => {
      said.push(line);
      const address = /^\{"listen":"(.+)"\}$/.exec(line)?.[1];
      if (address !== undefined) onAddress(address);
      else console.error(`server: ${line}`);
    };
    const guard = new ChildSupervisor({
      command: process.execPath,
      args: ['--expose-gc', join(built ? join(built, 'bench', 'support') : __dirname, 'server-main.js')],
      env: {
        ...Object.fromEntries(inherited),
        HOLDFAST_REDIS_URL: redisUrl,
        HOLDFAST_LISTEN: '127.0.0.1:0',
        HOLDFAST_STORE_IS_NEW: '1',
        HOLDFAST_LOG_LEVEL: 'warn',
      },
      graceMs: 0,
      onExit: () => onFailure(new Error(`the server ended at its start:\n${said.join('\n')}`)),
      onOutput: (...pipes: Readable[]) =>
        pipes.forEach((pipe) => createInterface({ input: pipe }).on('line', hear)),
    });
    const timer = setTimeout(() => onFailure(new Error('the server does not listen')), START_TIMEOUT_MS);
    try {
      await guard.start();
      return new BenchServer(guard, await listening);
    } catch (error) {
      await guard.end();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  get pid(): number {
    if (this.guard.pid === undefined) throw new Error('the server has ended');
    return this.guard.pid;
  }

  async close(): Promise<void> {
    await this.guard.end();
  }
}
