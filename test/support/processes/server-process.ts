import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../eventually';
import { ROOT } from '../root';
import { ChildProgram, freePort, inheritedEnvironment, type ProgramExit } from './child-program';

export interface ServerProcessOptions {
  readonly redisUrl: string;
  /** The address to listen on. Default: a free port, which stays reserved while the server is down. */
  readonly listen?: string;
  /**
   * Added to the configuration. The environment of the test run has no effect. A store without epochs counts as new
   * unless HOLDFAST_STORE_IS_NEW is set here.
   */
  readonly env?: Readonly<Record<string, string>>;
  /** The program of the server. Default: the built server of this tree. */
  readonly program?: string;
  readonly nodeArguments?: readonly string[];
  /** Called with each line that the server prints. */
  readonly onLine?: (line: string) => void;
}

export type LogLine = Readonly<Record<string, unknown>> & { readonly msg?: string };

/** All time limits suit a machine with busy cores. On an idle machine a server starts in half a second. */
const START_TIMEOUT_MS = 60_000;
const END_TIMEOUT_MS = 60_000;
const LOG_TIMEOUT_MS = 30_000;

/** Text that no server may print in any test. */
const DEFECT =
  /unhandled|uncaught|MaxListenersExceeded|PromiseRejectionHandled|Cannot set headers|ERR_HTTP2_HEADERS_SENT/i;

/** The built server of this tree. */
export function serverProgram(): string {
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

/** The built server in a separate process, which ends with the test run. A test still closes its server. */
export class ServerProcess {
  readonly logs: LogLine[] = [];
  private readonly child: ChildProgram;
  private address = '';

  private constructor(options: ServerProcessOptions, listen: string) {
    const { redisUrl, env = {}, program = serverProgram(), nodeArguments = [], onLine } = options;
    this.child = new ChildProgram({
      label: 'the server',
      args: [...nodeArguments, program],
      env: {
        ...inheritedEnvironment(),
        HOLDFAST_REDIS_URL: redisUrl,
        HOLDFAST_LISTEN: listen,
        HOLDFAST_ADMIN_LISTEN: 'off',
        HOLDFAST_STORE_IS_NEW: '1',
        ...env,
      },
      onLine: (line) => {
        const parsed = parseLine(line);
        if (parsed) this.logs.push(parsed);
        onLine?.(line);
      },
    });
  }

  /** Resolves when the server listens. Rejects with the server's output if the server ends before. */
  static async start(options: ServerProcessOptions): Promise<ServerProcess> {
    const listen = options.listen ?? `127.0.0.1:${await freePort()}`;
    const server = new ServerProcess(options, listen);
    try {
      await server.child.start();
      const started = (): boolean => server.exit !== undefined || server.hasStarted();
      await eventually('the server to listen', started, { timeoutMs: START_TIMEOUT_MS });
      if (server.exit) throw new Error(`the server ended with ${JSON.stringify(server.exit)} at its start`);
    } catch (error) {
      await server.close();
      throw new Error(`${(error as Error).message}\n${server.output.join('\n')}`);
    }
    return server;
  }

  /** The address that the server logged, "127.0.0.1:port". */
  get listen(): string {
    return this.address;
  }

  /** The address of metrics and probes that the server logged. Undefined: HOLDFAST_ADMIN_LISTEN is off. */
  get admin(): string | undefined {
    const line = this.logs.find((one) => typeof one['admin'] === 'string');
    return line?.['admin'] as string | undefined;
  }

  get pid(): number {
    return this.child.pid;
  }

  /** Every line that the server has printed. */
  get output(): string[] {
    return this.child.output;
  }

  /** The exit code or signal of the server. Undefined while the server runs. */
  get exit(): ProgramExit | undefined {
    return this.child.exit;
  }

  /** Kills the server with SIGKILL. A new server with the same `listen` can use the same port. */
  kill(): Promise<ProgramExit> {
    return this.endBy('SIGKILL');
  }

  /** Drains the server with SIGTERM. Resolves after the end of the server. */
  term(timeoutMs?: number): Promise<ProgramExit> {
    return this.endBy('SIGTERM', timeoutMs);
  }

  /** Stops the server with SIGSTOP. Connections stay open, and no request is answered. */
  stop(): void {
    this.signal('SIGSTOP');
  }

  cont(): void {
    this.signal('SIGCONT');
  }

  signal(signal: NodeJS.Signals): void {
    this.child.signal(signal);
  }

  logLine(what: string, matches: (line: LogLine) => boolean, timeoutMs = LOG_TIMEOUT_MS): Promise<LogLine> {
    return eventually(`a log line: ${what}`, () => this.logs.find(matches), { timeoutMs });
  }

  /** Throws if the server has printed a defect, such as an unhandled rejection, or has crashed. */
  assertNoUnhandled(): void {
    const line = this.output.find((one) => DEFECT.test(one));
    if (line !== undefined) throw new Error(`the server printed: ${line}`);
    const { exit } = this;
    if (exit === undefined || exit.signal !== null || exit.code === 0) return;
    throw new Error(`the server ended with code ${exit.code}:\n${this.output.join('\n')}`);
  }

  async close(): Promise<void> {
    await this.child.close();
  }

  private async endBy(signal: NodeJS.Signals, timeoutMs = END_TIMEOUT_MS): Promise<ProgramExit> {
    this.signal(signal);
    return this.child.ended(timeoutMs);
  }

  private hasStarted(): boolean {
    const line = this.logs.find((one) => one.msg?.includes('listening') && typeof one['listen'] === 'string');
    this.address = typeof line?.['listen'] === 'string' ? line['listen'] : '';
    return this.address !== '';
  }
}
