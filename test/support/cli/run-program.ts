import { existsSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { CommanderError } from 'commander';
import {
  type Asking,
  ASKING,
  CliError,
  EXIT,
  exitCodeOf,
  type Terminal,
  wantsColour,
} from '../../../src/cli/terminal';
import { problemText } from '../../../src/cli/output';
import { createProgram } from '../../../src/cli/program';
import { inheritedEnvironment } from '../processes/child-program';
import { scratchFolder } from '../scratch-folder';
import { WatchedRun } from './cli-process';

export interface FakeTerminal {
  readonly env?: NodeJS.ProcessEnv;
  /** The width of the terminal. Default: stdout is no terminal. */
  readonly columns?: number;
  readonly input?: string;
  /** Default: stdin is a pipe. */
  readonly inputIsTerminal?: boolean;
  readonly signal?: AbortSignal;
  /** Default: no signal comes. */
  readonly forwardSignals?: Terminal['forwardSignals'];
  /** How a command asks whether its servers answer. Default: as the program does. */
  readonly asking?: Asking;
  /** Called with all of stdout after each write. */
  readonly onOut?: (text: string) => void;
  /** Called with all of stderr after each write. */
  readonly onErr?: (text: string) => void;
}

export interface ProgramResult {
  readonly out: string;
  readonly err: string;
  readonly code: number;
}

/** Runs `holdfast` in this process, with a terminal of the test. */
export async function runProgram(args: readonly string[], fake: FakeTerminal = {}): Promise<ProgramResult> {
  const { env = {}, columns, input = '', inputIsTerminal = false, asking = ASKING, onOut, onErr } = fake;
  const { forwardSignals = () => () => undefined } = fake;
  const printed = { out: '', err: '' };
  let code: number = EXIT.done;
  const stream = (key: 'out' | 'err') =>
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        printed[key] += String(chunk);
        if (key === 'out') onOut?.(printed.out);
        else onErr?.(printed.err);
        done();
      },
    });
  const isTerminal = columns !== undefined;
  const terminal: Terminal = {
    env,
    out: stream('out'),
    err: stream('err'),
    input: Object.assign(Readable.from([input]), inputIsTerminal && { isTTY: true }),
    columns,
    outHasColour: wantsColour(env, isTerminal),
    errIsTerminal: isTerminal,
    holderLabel: 'user@host:1',
    interrupted: fake.signal ?? new AbortController().signal,
    asking,
    forwardSignals,
    releaseProcess: () => undefined,
    exitWith: (wanted) => (code = wanted),
  };
  try {
    await createProgram(terminal).parseAsync(['node', 'holdfast', ...args]);
  } catch (error) {
    if (error instanceof CommanderError) code = error.exitCode === 0 ? EXIT.done : EXIT.usage;
    else {
      printed.err += `${problemText(error as Error)}\n`;
      code = exitCodeOf(error);
    }
  }
  return { ...printed, code };
}

/** A command's output would be the output of the tests. */
const TO_FILE = ['sh', '-c', 'file=$1; shift; exec "$@" >"$file" 2>"$file.err"', 'sh'];

/**
 * `holdfast … -- COMMAND` in this process, where it starts three times as fast as CliProcess. The watchdog, the launcher
 * and the command are processes. What src/cli/main.ts does is only in CliProcess: the signals of a process, the streams,
 * "holdfast: " before an error.
 */
export class CommandRun extends WatchedRun<{ readonly code: number }> {
  private readonly file = join(scratchFolder(), 'stdout');
  private readonly interrupted = new AbortController();
  private receive: ((signal: NodeJS.Signals) => void) | undefined;

  constructor(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
    super();
    const words = args.indexOf('--') + 1;
    const command = [...TO_FILE, this.file, ...args.slice(words)];
    void runProgram([...args.slice(0, words), ...command], {
      env: { ...inheritedEnvironment(), ...env },
      signal: this.interrupted.signal,
      forwardSignals: (to) => {
        this.receive = to;
        return () => (this.receive = undefined);
      },
      onErr: (text) => (this.stderr = text),
    }).then(({ code, err }) => {
      this.stderr = err;
      this.exit = { code };
    });
  }

  /** What the command has printed. */
  get stdout(): string {
    return existsSync(this.file) ? readFileSync(this.file, 'utf8') : '';
  }

  signal(signal: NodeJS.Signals): void {
    if (this.receive !== undefined) return this.receive(signal);
    this.interrupted.abort(new CliError(`ended by ${signal}`, 128 + constants.signals[signal]));
  }
}
