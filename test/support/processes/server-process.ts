import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { ChildSupervisor, type ChildExit } from '../../../src/dev/child-supervisor';
import { eventually } from '../eventually';
import { ROOT } from '../root';
import { freePort } from './free-port';
import { lifeline } from './lifeline';

export interface ServerProcessOptions {
  readonly redisUrl: string;
  /** Default: a port of its own, one that nobody is given while the server is down. */
  readonly listen?: string;
  /** More of the configuration; a store without epochs is a new one unless this says otherwise. Nothing of it comes from the environment of the test run. */
  readonly env?: Readonly<Record<string, string>>;
  /** The server's program; default: the built one of this tree. */
  readonly program?: string;
}

/** One line of the server's log. */
export type LogLine = Readonly<Record<string, unknown>> & { readonly msg?: string };

const START_TIMEOUT_MS = 15_000;

/** What no run may ever print, whatever was done to it. */
const DISGRACE =
  /unhandled|uncaught|MaxListenersExceeded|PromiseRejectionHandled|Cannot set headers|ERR_HTTP2_HEADERS_SENT/i;

function serverProgram(): string {
  const program = join(ROOT, 'dist', 'src', 'main.js');
  if (!existsSync(program)) throw new Error(`${program} is missing: run "npm run build"`);
  return program;
}

function parseLine(line: string): LogLine | undefined {
  try {
    return JSON.parse(line) as LogLine;
  } catch {
    return undefined;
  }
}

/**
 * The real, built server as a process of its own. It ends with the test run however that ends; call `close()` all
 * the same.
 */
export class ServerProcess {
  /** Everything it has printed, line by line. */
  readonly output: string[] = [];
  /** The lines that are log lines. */
  readonly logs: LogLine[] = [];
  /** How it ended, once it has. */
  exit: ChildExit | undefined;
  private readonly guard: ChildSupervisor;
  private address = '';

  private constructor({ redisUrl, env = {}, program }: ServerProcessOptions, listen: string) {
    const { PATH, HOME, TMPDIR } = process.env;
    const inherited = Object.entries({ PATH, HOME, TMPDIR }).filter(([, value]) => value !== undefined);
    this.guard = new ChildSupervisor({
      command: process.execPath,
      args: [program ?? serverProgram()],
      env: {
        ...Object.fromEntries(inherited),
        HOLDFAST_REDIS_URL: redisUrl,
        HOLDFAST_LISTEN: listen,
        HOLDFAST_STORE_IS_NEW: '1',
        ...env,
      },
      graceMs: 0,
      ...lifeline(),
      onExit: (exit) => (this.exit = exit),
      onOutput: (...pipes) => pipes.forEach((pipe) => this.collect(pipe)),
    });
  }

  /** Resolves when the server listens; rejects with all that it has printed when it does not come to that. */
  static async start(options: ServerProcessOptions): Promise<ServerProcess> {
    const listen = options.listen ?? `127.0.0.1:${await freePort()}`;
    const server = new ServerProcess(options, listen);
    try {
      await server.guard.start();
      const started = (): boolean => server.exit !== undefined || server.hasStarted();
      await eventually('the server to listen', started, { timeoutMs: START_TIMEOUT_MS });
      if (server.exit) throw new Error(`the server ended with ${JSON.stringify(server.exit)} at its start`);
    } catch (error) {
      await server.close();
      throw new Error(`${(error as Error).message}\n${server.output.join('\n')}`);
    }
    return server;
  }

  /** "127.0.0.1:port", as the server said. */
  get listen(): string {
    return this.address;
  }

  get pid(): number {
    if (this.guard.pid === undefined) throw new Error('this server has ended');
    return this.guard.pid;
  }

  /** SIGKILL. Start another one with `listen` for a restart on the same port. */
  async kill(): Promise<ChildExit> {
    return this.endBy('SIGKILL');
  }

  /** SIGTERM: drains, and resolves when it has ended. */
  async term(timeoutMs = 20_000): Promise<ChildExit> {
    return this.endBy('SIGTERM', timeoutMs);
  }

  /** SIGSTOP: its connections stay open and nothing is answered. */
  stop(): void {
    this.signal('SIGSTOP');
  }

  cont(): void {
    this.signal('SIGCONT');
  }

  signal(signal: NodeJS.Signals): void {
    if (!this.guard.signal(signal)) throw new Error(`${signal}: this server has ended`);
  }

  /** Waits for a log line, also one that is there already. */
  async logLine(what: string, matches: (line: LogLine) => boolean, timeoutMs = 5_000): Promise<LogLine> {
    return eventually(`a log line: ${what}`, () => this.logs.find(matches), { timeoutMs });
  }

  /** Throws when it has printed of an unhandled rejection or the like, or has ended by a crash. */
  assertNoUnhandled(): void {
    const line = this.output.find((one) => DISGRACE.test(one));
    if (line !== undefined) throw new Error(`the server printed: ${line}`);
    const crashed = this.exit && this.exit.signal === null && this.exit.code !== 0;
    if (crashed) throw new Error(`the server ended with code ${this.exit?.code}:\n${this.output.join('\n')}`);
  }

  async close(): Promise<void> {
    await this.guard.end();
  }

  private async endBy(signal: NodeJS.Signals, timeoutMs = 5_000): Promise<ChildExit> {
    this.signal(signal);
    return eventually(`the server to end by ${signal}`, () => this.exit, { timeoutMs });
  }

  private hasStarted(): boolean {
    const line = this.logs.find((one) => one.msg?.includes('listening') && typeof one['listen'] === 'string');
    this.address = typeof line?.['listen'] === 'string' ? line['listen'] : '';
    return this.address !== '';
  }

  private collect(pipe: Readable): void {
    createInterface({ input: pipe }).on('line', (line) => {
      this.output.push(line);
      const parsed = parseLine(line);
      if (parsed) this.logs.push(parsed);
    });
  }
}
