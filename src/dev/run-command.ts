import { spawn } from 'node:child_process';

export interface CommandResult {
  /** 0 when all went well; null when it could not be run, was killed, or took too long. */
  readonly code: number | null;
  readonly stdout: string;
  /** What it said about its failure; where it could not be run at all, why not. */
  readonly stderr: string;
}

export interface CommandOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly timeoutMs: number;
}

/** Runs a command to its end. Never rejects: a command that is not there is an answer too. */
export function runCommand(
  command: string,
  args: readonly string[],
  options: CommandOptions,
): Promise<CommandResult> {
  return new Promise((resolve) => {
    const { timeoutMs, ...rest } = options;
    const child = spawn(command, [...args], { ...rest, stdio: ['ignore', 'pipe', 'pipe'] });
    // Not spawn's own `timeout`: its timer goes on, and keeps the process, when the command is not there.
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
      const words = Buffer.concat(err).toString();
      const killed = signal === null ? '' : `ended by ${signal} (it had ${timeoutMs / 1000} s)`;
      settle({ code, stdout: Buffer.concat(out).toString(), stderr: `${words}${killed}` });
    });
  });
}
