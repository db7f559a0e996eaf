import { spawn } from 'node:child_process';

export interface CommandResult {
  /** The exit code. Null: the command could not be run, was killed, or took too long. */
  readonly code: number | null;
  readonly stdout: string;
  /** The standard error. Ends with the reason if the command could not be run or was killed. */
  readonly stderr: string;
}

export interface CommandOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly timeoutMs: number;
}

/** Runs a command to its end. Never rejects, because the result also reports a missing command. */
export function runCommand(
  command: string,
  args: readonly string[],
  options: CommandOptions,
): Promise<CommandResult> {
  return new Promise((resolve) => {
    const { timeoutMs, ...rest } = options;
    const child = spawn(command, [...args], { ...rest, stdio: ['ignore', 'pipe', 'pipe'] });
    // The `timeout` of spawn is not used, because its timer keeps this process alive if the command does not exist.
    const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
    const settle = (result: CommandResult): void => {
      clearTimeout(timer);
      resolve(result);
    };
    child.on('error', (error) => settle({ code: null, stdout: '', stderr: error.message }));
    child.on('close', (code, signal) => {
      const killed = signal === null ? '' : `ended by ${signal} (time limit ${timeoutMs / 1000} s)`;
      const stderr = `${Buffer.concat(err).toString()}${killed}`;
      settle({ code, stdout: Buffer.concat(out).toString(), stderr });
    });
  });
}
