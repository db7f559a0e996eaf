import { spawn } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, type Holdfast, type Lease } from '../../clients/typescript';
import { LockServiceService as locks } from '../../generated/typescript/holdfast/v1/lock_service';
import {
  type CliExit,
  type CliOptions,
  CliProcess,
  cliProgram,
  isRunning,
  watchdogOf,
} from '../support/cli/cli-process';
import { CommandRun, runProgram } from '../support/cli/run-program';
import { closeAll, eventually } from '../support/eventually';
import { inheritedEnvironment } from '../support/processes/child-program';
import { RedisProcess } from '../support/processes/redis-process';
import { TcpProxy } from '../support/proxy/tcp-proxy';
import { scratchFolder } from '../support/scratch-folder';
import { InProcessServer } from '../end-to-end/in-process-server';

/**
 * A real server and Redis, and real commands. The built program is a process of its own where its signals, its streams or
 * its environment matter, and else runs in this process.
 */

let redis: RedisProcess;
let server: InProcessServer;
let hf: Holdfast;
let count = 0;
let name: string;
const open: (CliProcess | CommandRun)[] = [];

beforeAll(async () => {
  redis = await RedisProcess.start({ inMemory: true });
  server = await InProcessServer.start(redis.url);
  hf = await connect(server.address);
});

beforeEach(() => (name = `name-${count++}`));

afterEach(() => closeAll(...open.splice(0).map((cli) => () => cli.close())));

afterAll(() =>
  closeAll(
    () => hf.close(),
    () => server.close(),
    () => redis.close(),
  ),
);

/** The program in a process of its own. */
function startProcess(args: readonly string[], options: CliOptions = {}): CliProcess {
  const env = { HOLDFAST_ADDRESS: server.address, ...options.env };
  const cli = new CliProcess(args, { ...options, env });
  open.push(cli);
  return cli;
}

/** Runs `holdfast lock run NAME …` to its end, in a process of its own. */
async function lockRunProcess(...args: string[]): Promise<CliProcess> {
  const cli = startProcess(['lock', 'run', name, ...args]);
  await cli.ended();
  return cli;
}

/** The program in this process. */
function start(args: readonly string[]): CommandRun {
  const run = new CommandRun(args, { HOLDFAST_ADDRESS: server.address });
  open.push(run);
  return run;
}

/** Runs `holdfast lock run NAME …` to its end, in this process. */
async function lockRun(...args: string[]): Promise<CommandRun> {
  const run = start(['lock', 'run', name, ...args]);
  await run.ended();
  return run;
}

/** A command of an operator, in this process. */
const operator = (...args: string[]) => runProgram([...args, '-a', server.address]);

const code = ({ exit }: CliProcess | CommandRun): CliExit['code'] | undefined => exit?.code;

async function lockState() {
  const { lock } = await hf.call(locks.getLock, { name });
  return { holders: lock?.holderCount, waiters: lock?.waiterCount };
}

/** Holds the name until the end of `body`. */
async function whileHeld(body: (lease: Lease) => Promise<void>): Promise<void> {
  const lease = await hf.lock(name);
  try {
    await body(lease);
  } finally {
    await lease.release();
  }
}

describe('the command', () => {
  test('gives its exit code and its output, and the lock is free afterwards', async () => {
    const cli = await lockRunProcess('--', 'sh', '-c', 'echo data; echo talk >&2; exit 7');
    expect(cli).toMatchObject({ stdout: 'data\n', stderr: 'talk\n', exit: { code: 7, signal: null } });
    expect(await lockState()).toEqual({ holders: 0, waiters: 0 });
  });

  test('holds the lock while it runs, under its label', async () => {
    const held = start([
      'lock',
      'run',
      name,
      '--holder',
      'nightly',
      '--',
      'sh',
      '-c',
      'echo ready; exec sleep 60',
    ]);
    await held.prints('ready');
    const { lock } = await hf.call(locks.getLock, { name });
    expect(lock?.holders).toMatchObject([{ holderId: 'nightly' }]);
    held.signal('SIGTERM');
    expect(await held.ended()).toEqual({ code: 143 });
  });

  test('gets the name, the fencing token and the deadline in its environment, and no lease id', async () => {
    const before = Date.now();
    const cli = await lockRun('--ttl', '20s', '--', 'env');
    const variables = cli.stdout.split('\n').filter((line) => line.startsWith('HOLDFAST_'));
    const [, deadline] = /^HOLDFAST_DEADLINE_MS=(\d+)$/m.exec(cli.stdout) ?? [];
    expect(variables.sort()).toEqual([
      `HOLDFAST_ADDRESS=${server.address}`,
      `HOLDFAST_DEADLINE_MS=${deadline}`,
      expect.stringMatching(/^HOLDFAST_FENCING_TOKEN=[1-9]\d*$/),
      `HOLDFAST_NAME=${name}`,
    ]);
    expect(Number(deadline)).toBeGreaterThan(before);
    expect(Number(deadline)).toBeLessThanOrEqual(Date.now() + 20_000);
  });

  test('gets its arguments as they are, without a shell', async () => {
    const words = ['$HOME', '*', 'two words', '--ttl', '5s', ''];
    const cli = await lockRun('--', 'sh', '-c', 'printf "<%s>" "$@"', 'sh', ...words);
    expect(cli.stdout).toBe(words.map((word) => `<${word}>`).join(''));
  });

  test('leaves no process in the background', async () => {
    const cli = await lockRun('--', 'sh', '-c', 'sleep 60 & echo $!; exit 3');
    expect(code(cli)).toBe(3);
    expect(isRunning(Number(cli.stdout))).toBe(false);
  });

  test.each([
    ['127 if it is not found', 'no-such-command', 127, 'the command was not found'],
    ['126 if it is not executable', '/', 126, 'the command cannot be executed'],
  ])('gives %s', async (_title, command, expected, text) => {
    const env = { ...inheritedEnvironment(), HOLDFAST_ADDRESS: server.address };
    const { code, err } = await runProgram(['lock', 'run', name, '--', command], { env });
    expect(code).toBe(expected);
    expect(err).toContain(text);
    expect(await lockState()).toEqual({ holders: 0, waiters: 0 });
  });
});

describe('signals', () => {
  test('go to the command, all of them, also a second Ctrl-C', async () => {
    const traps = ['INT', 'HUP', 'QUIT', 'USR1', 'USR2']
      .map((one) => `trap 'echo got ${one}' ${one}`)
      .join(';');
    const script = `${traps}; trap 'exit 5' TERM; echo ready; while :; do sleep 0.02; done`;
    const cli = startProcess(['lock', 'run', name, '--', 'sh', '-c', script]);
    await cli.prints('ready');
    for (const one of ['INT', 'HUP', 'QUIT', 'USR1', 'USR2'] as const) {
      cli.signal(`SIG${one}`);
      await cli.prints(`got ${one}\n`);
    }
    cli.signal('SIGINT');
    await eventually('the second Ctrl-C', () => cli.stdout.split('got INT').length === 3);
    cli.signal('SIGTERM');
    expect(await cli.ended()).toEqual({ code: 5, signal: null });
  });

  test('give 128 + n if they end the command', async () => {
    const cli = start(['lock', 'run', name, '--', 'sh', '-c', 'echo ready; exec sleep 60']);
    await cli.prints('ready');
    cli.signal('SIGINT');
    expect(await cli.ended()).toEqual({ code: 130 });
  });

  test('end the wait for the lock: Ctrl-C leaves the queue, with 130', async () => {
    await whileHeld(async () => {
      const cli = startProcess(['lock', 'run', name, '--', 'true']);
      await eventually('a waiter', async () => (await lockState()).waiters === 1);
      cli.signal('SIGINT');
      expect(await cli.ended()).toEqual({ code: 130, signal: null });
      expect(await lockState()).toEqual({ holders: 1, waiters: 0 });
    });
  });

  test('end a wait at once after a second Ctrl-C, although no server answers', async () => {
    const proxy = await TcpProxy.open({
      targetPort: Number(server.address.split(':').pop()),
      protocol: 'tcp',
    });
    try {
      await whileHeld(async () => {
        const cli = startProcess(['lock', 'run', name, '-a', proxy.address, '--', 'true']);
        await eventually('a waiter', async () => (await lockState()).waiters === 1);
        proxy.blackHole('both');
        cli.signal('SIGINT');
        const repeated = setInterval(() => cli.signal('SIGINT'), 200);
        expect(await cli.ended().finally(() => clearInterval(repeated))).toEqual({ code: 130, signal: null });
      });
    } finally {
      await proxy.close();
    }
  });

  test('end an attempt to connect at the first Ctrl-C', async () => {
    const proxy = await TcpProxy.open({ targetPort: 1, protocol: 'tcp' });
    proxy.blackHole('both');
    try {
      const cli = startProcess(['lock', 'run', name, '-a', proxy.address, '--timeout', '1h', '--', 'true']);
      await eventually('a connection', () => proxy.connectionCount > 0);
      cli.signal('SIGTERM');
      expect(await cli.ended()).toEqual({ code: 143, signal: null });
    } finally {
      await proxy.close();
    }
  });
});

describe('the lease', () => {
  test('is not granted: 75, or the code of -E, and the holder is named', async () => {
    await whileHeld(async () => {
      const once = lockRunProcess('--wait', '0s', '--', 'true');
      const after = lockRun('--wait', '300ms', '-E', '3', '--', 'true');
      expect(await once).toMatchObject({
        exit: { code: 75 },
        stderr: `holdfast: lock "${name}" was not granted\n`,
      });
      expect(await after).toMatchObject({
        exit: { code: 3 },
        stderr: `lock "${name}" was not granted within 300ms\n`,
      });
      const quiet = await lockRun('--wait', '0s', '-qE', '0', '--', 'true');
      expect(quiet).toMatchObject({ exit: { code: 0 }, stdout: '', stderr: '' });
    });
  });

  test('is revoked: the command gets SIGTERM, and 76', async () => {
    const script = `trap 'echo ended; exit 0' TERM; echo ready; while :; do sleep 0.02; done`;
    for (const force of [[], ['--force']]) {
      const cli = start(['lock', 'run', name, '--', 'sh', '-c', script]);
      await cli.prints('ready');
      expect(await operator('lock', 'revoke', name, '--all', ...force)).toMatchObject({ code: 0 });
      expect(await cli.ended()).toEqual({ code: 76 });
      expect(cli.stdout).toBe('ready\nended\n');
      expect(cli.stderr).toContain(
        `holdfast: the lease of "${name}" is over: an operator or a new policy revoked it; ` +
          'the command was ended before the deadline\n',
      );
    }
  });

  test('is revoked without --force: nobody gets the lock before the end of a command that ignores SIGTERM', async () => {
    const script = `trap '' TERM; echo $$; while :; do sleep 0.02; done`;
    const cli = start(['lock', 'run', name, '--ttl', '5s', '--', 'sh', '-c', script]);
    await cli.prints('\n');
    const pid = Number(cli.stdout);
    const next = hf.lock(name).then((lease) => {
      const stillRuns = isRunning(pid);
      return lease.release().then(() => stillRuns);
    });
    await eventually('a waiter', async () => (await lockState()).waiters === 1);
    const { lock } = await hf.call(locks.getLock, { name });
    const token = String(lock?.holders[0]?.fencingToken);
    const revoke = await operator('lock', 'revoke', name, '--token', token, '--reason', 'a test');
    expect(revoke).toMatchObject({ code: 0 });
    expect(revoke.err).toMatch(/^revoked: 1; free in [\d.]+(ms|s)\n$/);
    expect(await next).toBe(false);
    expect(await cli.ended()).toEqual({ code: 76 });
  });

  test('ends at --max-hold: the command gets SIGTERM, and 76', async () => {
    const cli = await lockRun('--max-hold', '300ms', '--', 'sleep', '60');
    expect(code(cli)).toBe(76);
    expect(cli.stderr).toBe(
      `holdfast: --max-hold has passed for "${name}"; the command was ended before the deadline\n`,
    );
    expect(await lockState()).toEqual({ holders: 0, waiters: 0 });
  });

  test('ends at --max-hold also for timeout, which makes a process group of its own', async () => {
    const command = ['timeout', '600', 'sh', '-c', 'echo $$; sleep 600'];
    const cli = start(['lock', 'run', name, '--max-hold', '1s', '--', ...command]);
    await cli.prints('\n');
    const pid = Number(cli.stdout);
    expect(await cli.ended()).toEqual({ code: 76 });
    expect(isRunning(pid)).toBe(false);
    expect(await lockState()).toEqual({ holders: 0, waiters: 0 });
  });

  test('is not ended by a --max-hold that is longer than a timer of Node can be', async () => {
    const cli = await lockRun('--max-hold', '600h', '--', 'sh', '-c', 'sleep 1; exit 6');
    expect(cli).toMatchObject({ exit: { code: 6 }, stderr: '' });
  });

  test('is given up after SIGTERM to the watchdog, and the message says so', async () => {
    const cli = startProcess(['lock', 'run', name, '--', 'sh', '-c', 'echo ready; exec sleep 60']);
    await cli.prints('ready');
    process.kill(watchdogOf(cli.pid)?.pid ?? NaN, 'SIGTERM');
    expect(await cli.ended()).toEqual({ code: 76, signal: null });
    expect(cli.stderr).toBe(
      'holdfast: the watchdog got SIGTERM; the command was ended before the deadline\n',
    );
  });

  test('of a semaphore has its limit and permits', async () => {
    const run = ['semaphore', 'run', name, '--limit', '3', '--permits', '2', '--ttl', '10s'];
    const cli = startProcess([...run, '--', 'sh', '-c', 'echo ready; exec sleep 60']);
    await cli.prints('ready');
    const other = start([...run, '--wait', '0s', '--', 'true']);
    expect(await other.ended()).toEqual({ code: 75 });
    expect(other.stderr).toMatch(
      new RegExp(`^semaphore "name-\\d+" was not granted: held by .+@.+:${cli.pid}\n$`),
    );
    cli.signal('SIGTERM');
    await cli.ended();
  });

  test('of a paused semaphore is not granted, and the message says why and what to do', async () => {
    expect(await operator('semaphore', 'set-limit', name, '0')).toMatchObject({ code: 0 });
    const cli = start(['semaphore', 'run', name, '--wait', '0s', '--', 'true']);
    expect(await cli.ended()).toEqual({ code: 75 });
    expect(cli.stderr).toBe(
      `semaphore "${name}" was not granted: its limit of 0 pauses the semaphore; ` +
        '"holdfast semaphore set-limit" raises the limit\n',
    );
  });

  test('of an election shows the value of the leader', async () => {
    const cli = start(['elect', name, '--value', 'host:8080', '--', 'sh', '-c', 'echo ready; exec sleep 60']);
    await cli.prints('ready');
    expect((await hf.election(name).leader())?.value).toBe('host:8080');
    cli.signal('SIGTERM');
    await cli.ended();
    expect(await hf.election(name).leader()).toBeUndefined();
  });

  test('shared is held together', async () => {
    const script = ['sh', '-c', 'echo ready; exec sleep 60'];
    const both = [1, 2].map(() => start(['lock', 'run', name, '--shared', '--', ...script]));
    await Promise.all(both.map((cli) => cli.prints('ready')));
    both.forEach((cli) => cli.signal('SIGTERM'));
    await Promise.all(both.map((cli) => cli.ended()));
  });
});

describe('surroundings', () => {
  test('cron: few variables, no HOME and no terminal', async () => {
    const cli = startProcess(
      ['lock', 'run', name, '--wait', '1m', '-a', server.address, '--', 'sh', '-c', 'echo done'],
      {
        onlyEnv: { PATH: '/usr/bin:/bin', SHELL: '/bin/sh', LOGNAME: 'root' },
      },
    );
    expect(await cli.ended()).toEqual({ code: 0, signal: null });
    expect([cli.stdout, cli.stderr]).toEqual(['done\n', '']);
  });

  test('no variable at all', async () => {
    const cli = startProcess(['lock', 'run', name, '-a', server.address, '--', '/bin/echo', 'done'], {
      onlyEnv: {},
    });
    expect(await cli.ended()).toEqual({ code: 0, signal: null });
    expect(cli.stdout).toBe('done\n');
  });

  test('stdin goes to the command, byte for byte', async () => {
    const input = 'line\n'.repeat(100_000);
    const cli = startProcess(['lock', 'run', name, '--', 'cat'], { input });
    await cli.ended();
    expect(cli.stdout === input).toBe(true);
  });

  test('a reader that ends early ends the command by SIGPIPE, with 141', async () => {
    const holdfast = [process.execPath, cliProgram(), 'lock', 'run', name, '-a', server.address, '--', 'yes'];
    const script = `("$@"; echo "code $?" >&2) | head -n 1`;
    expect(await shell(script, holdfast)).toEqual({ stdout: 'y\n', stderr: 'code 141\n' });
  });

  test('a stderr without a reader does not end the command', async () => {
    const file = join(scratchFolder(), 'command');
    writeFileSync(file, '#!/bin/sh\nsleep 0.5\nexit 9\n');
    chmodSync(file, 0o755);
    const run = ['lock', 'run', name, '-a', server.address, '--max-hold', '60s', '--', file];
    const holdfast = [process.execPath, cliProgram(), ...run];
    expect(await shell(`("$@" 2>&1 >/dev/null; echo "code $?" >&3) 3>&2 | true`, holdfast)).toEqual({
      stdout: '',
      stderr: 'code 9\n',
    });
  });
});

describe('errors', () => {
  /** In this process: no command is started. */
  const refused = (...args: string[]) =>
    runProgram(args, { env: { ...inheritedEnvironment(), HOLDFAST_ADDRESS: server.address } });

  test('no server answers: 69', async () => {
    const words = ['-a', '127.0.0.1:1', '--timeout', '500ms', '--', 'true'];
    const { code, err } = await refused('lock', 'run', name, ...words);
    expect(code).toBe(69);
    expect(err).toMatch(/^no server answered in time/);
  });

  test.each([
    [['semaphore', 'run'], /does not exist: create it with --limit or "semaphore set-limit"/, 1],
    [['lock', 'run', '--ttl', '100h'], /^--ttl is 100 h and must be from/, 64],
    [['elect', '--holder', 'a\u0001'], /^--holder must not contain control characters/, 64],
  ])('%j is refused in the words of the flags', async (words, text, expected) => {
    const { code, err } = await refused(...words, name, '--', 'true');
    expect(err).toMatch(text);
    expect(code).toBe(expected);
  });

  test.each([
    ['no command', []],
    ['a ttl below 2 s', ['--ttl', '1s', '--', 'true']],
    ['a grace above half of the ttl', ['--ttl', '10s', '--grace', '6s', '--', 'true']],
    ['a time without a unit', ['--wait', '5', '--', 'true']],
    ['an unknown option', ['--unknown', '--', 'true']],
    ['an unknown context', ['--context', 'nowhere', '--', 'true']],
    ['a token file that is not there', ['--token-file', '/nowhere', '--', 'true']],
  ])('%s: 64', async (_title, args) => {
    const { code, out, err } = await refused('lock', 'run', name, ...args);
    expect(err).not.toBe('');
    expect([code, out]).toEqual([64, '']);
  });

  test('a wrong use of the built program has one line and the exit code 64', async () => {
    const cli = await lockRunProcess('--ttl', '1s', '--', 'true');
    expect(cli.stderr).toMatch(/^holdfast: --ttl must be at least .*\n$/);
    expect([code(cli), cli.stdout]).toEqual([64, '']);
  });
});

/** Runs a shell script with the words as "$@". */
async function shell(script: string, words: readonly string[]): Promise<{ stdout: string; stderr: string }> {
  const child = spawn('sh', ['-c', script, 'sh', ...words], { stdio: ['ignore', 'pipe', 'pipe'] });
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text));
  let isClosed = false;
  child.on('close', () => (isClosed = true));
  await eventually('the end of the pipeline', () => isClosed, { timeoutMs: 60_000 });
  return output;
}
