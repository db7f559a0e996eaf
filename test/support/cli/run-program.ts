import { Writable } from 'node:stream';
import { Readable } from 'node:stream';
import { CommanderError } from 'commander';
import { type Asking, ASKING, EXIT, exitCodeOf, type Terminal, wantsColour } from '../../../src/cli/terminal';
import { problemText } from '../../../src/cli/output';
import { createProgram } from '../../../src/cli/program';

export interface FakeTerminal {
  readonly env?: NodeJS.ProcessEnv;
  /** The width of the terminal. Default: stdout is no terminal. */
  readonly columns?: number;
  readonly input?: string;
  /** Default: stdin is a pipe. */
  readonly inputIsTerminal?: boolean;
  readonly signal?: AbortSignal;
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
    forwardSignals: () => () => undefined,
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
