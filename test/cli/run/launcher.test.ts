import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { join } from 'node:path';
import { ProcessSession, sharedNow } from '../../../src/cli/run/processes';
import type { FromLauncher, LaunchMessage } from '../../../src/cli/run/protocol';
import { HoldBound, runLimits } from '../../../src/cli/run/under-lease';
import { allProcesses, isRunning, processState } from '../../support/cli/cli-process';
import { eventually } from '../../support/eventually';
import { ROOT } from '../../support/root';

describe('launcher', () => {
  const LONG_MS = 60_000;

  let launcher: ChildProcess;
  let messages: FromLauncher[];

  beforeEach(async () => {
    messages = [];
    launcher = spawn(process.execPath, [join(ROOT, 'dist', 'src', 'cli', 'run', 'launcher.js')], {
      detached: true,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    launcher.on('message', (message: FromLauncher) => messages.push(message));
    await eventually('ready', () => messages.length === 1);
  });

  afterEach(async () => {
    launcher.kill('SIGCONT');
    if (launcher.connected) launcher.disconnect();
    await eventually('the end of the session', () => members().length === 0);
  });

  function members(): number[] {
    return allProcesses().flatMap((one) =>
      one.session === launcher.pid && isRunning(one.pid) ? [one.pid] : [],
    );
  }

  function launch(script: string, latestStart = sharedNow() + LONG_MS): void {
    const message: LaunchMessage = { command: 'bash', args: ['-c', script], env: process.env, latestStart };
    launcher.send(message);
  }

  test('starts no command when it was stopped until the latest start', async () => {
    launcher.kill('SIGSTOP');
    await eventually('the stop', () => processState(launcher.pid ?? NaN)?.state === 'T');
    const latestStart = sharedNow() + 100;
    launch('exit 0', latestStart);
    await eventually('the latest start', () => sharedNow() > latestStart);
    launcher.kill('SIGCONT');
    await eventually('an answer', () => messages.length > 1);
    expect(messages.slice(1)).toEqual([
      { kind: 'failed', code: 'TOO_LATE', message: 'the lease is about to end' },
    ]);
  });

  test('kills all processes of the session, also in other groups, when the watchdog has ended', async () => {
    launch('set -m; timeout 60 sleep 60 & sleep 60 & exec sleep 60');
    await eventually('all processes', () => members().length === 5);
    launcher.disconnect();
    await eventually('the end of the session', () => members().length === 0);
  });

  // A defect of the program itself has these. Nothing can catch KILL and STOP, and the others do not end a process.
  const OTHERS = ['SEGV', 'BUS', 'FPE', 'ILL', 'KILL', 'STOP', 'CHLD', 'CONT', 'TSTP', 'TTIN', 'TTOU', 'URG'];

  test('survives each signal that the command sends to its group with kill 0', async () => {
    const all = Object.keys(constants.signals).map((name) => name.slice('SIG'.length));
    const names = all.filter((name) => !OTHERS.includes(name) && !['IOT', 'POLL'].includes(name));
    expect(names).toEqual(expect.arrayContaining(['ALRM', 'PROF', 'TERM', 'XCPU']));
    const ignored = names.map((name) => `trap '' ${name}`).join('; ');
    launch(`${ignored}; for name in ${names.join(' ')}; do kill -$name 0; done; exit 7`);
    await eventually('the end', () => messages.some(({ kind }) => kind === 'exited'));
    expect(messages.at(-1)).toEqual({ kind: 'exited', code: 7, signal: null });
  });
});

describe('process session', () => {
  const children: ChildProcess[] = [];

  afterEach(() => {
    const leaders = children.splice(0).map(({ pid }) => pid);
    for (const { pid } of allProcesses().filter(({ session }) => leaders.includes(session))) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // The process has ended.
      }
    }
  });

  async function startSession(command: string, ...args: string[]): Promise<ProcessSession> {
    const child = spawn(command, args, { detached: true, stdio: ['ignore', 'ignore', 'inherit'] });
    children.push(child);
    await once(child, 'spawn');
    return new ProcessSession(child.pid ?? NaN);
  }

  function membersOf(session: ProcessSession): number[] {
    return allProcesses().flatMap((one) =>
      one.session === session.id && isRunning(one.pid) ? [one.pid] : [],
    );
  }

  test('is alive until its last process has ended', async () => {
    const session = await startSession('sh', '-c', 'sleep 60 & sleep 60 & exit 0');
    await eventually('the end of the shell', () => processState(session.id) === undefined);
    expect(session.isAlive).toBe(true);
    session.signal('SIGKILL');
    await eventually('the end of the session', () => !session.isAlive);
    expect(membersOf(session)).toEqual([]);
  });

  test('signals all processes of the group of the leader', async () => {
    const session = await startSession('sh', '-c', 'sleep 60 & sleep 60 & wait');
    await eventually('three processes', () => membersOf(session).length === 3);
    session.signal('SIGTERM');
    await eventually('the end of the session', () => !session.isAlive);
  });

  describe('a process that has left the group of the leader', () => {
    /** A shell with job control gives each job a group of its own, as `timeout` does. */
    const JOBS = 'set -m; sh -c "trap : TERM; while :; do sleep 0.1; done" & sleep 60 &';

    function otherGroups(session: ProcessSession): number[] {
      const groups = membersOf(session).flatMap((pid) => processState(pid)?.group ?? []);
      return [...new Set(groups)].filter((group) => group !== session.id);
    }

    test('keeps the session alive after the end of the group, and is killed', async () => {
      const session = await startSession('bash', '-c', `${JOBS} exit 0`);
      await eventually('the end of the shell', () => processState(session.id) === undefined);
      expect(session.isAlive).toBe(true);
      const pids = membersOf(session);
      session.signal('SIGKILL');
      await eventually('the end of the session', () => !session.isAlive);
      expect(pids.length).toBeGreaterThan(1);
      expect(pids.filter(isRunning)).toEqual([]);
    });

    test('gets each signal', async () => {
      const session = await startSession('bash', '-c', 'timeout 60 sleep 60; exit 0');
      await eventually(
        'two groups',
        () => otherGroups(session).length === 1 && membersOf(session).length === 3,
      );
      const [group = NaN] = otherGroups(session);
      session.signal('SIGINT');
      await eventually('the end of the session', () => !session.isAlive);
      expect(allProcesses().filter((one) => one.group === group && isRunning(one.pid))).toEqual([]);
    });

    test('is killed by a process of the session, which stays', async () => {
      const session = await startSession('bash', '-c', `${JOBS} wait; exec sleep 60`);
      await eventually('two other groups', () => otherGroups(session).length === 2);
      await eventually('the end of the others', () => !session.killAllBut(session.id) || undefined);
      expect(membersOf(session)).toEqual([session.id]);
    });
  });

  test('is not alive if only a zombie is left, which nobody collects', async () => {
    // The outer shell becomes a program that collects no children. Its child becomes the first process of a session.
    const outer = await startSession('sh', '-c', 'setsid sh -c "exit 0" & exec sleep 60');
    const zombie = await eventually('a zombie', () =>
      allProcesses().find((one) => one.parent === outer.id && one.state === 'Z'),
    );
    expect(zombie.session).toBe(zombie.pid);
    expect(new ProcessSession(zombie.session).isAlive).toBe(false);
  });

  test('sends no signal after its end, because another program may have its number', async () => {
    const session = await startSession('true');
    await eventually('the end of the session', () => !session.isAlive);
    const kill = jest.spyOn(process, 'kill');
    session.signal('SIGKILL');
    expect(session.isAlive).toBe(false);
    expect(kill).not.toHaveBeenCalled();
    kill.mockRestore();
  });

  const hasPython = spawnSync('python3', ['-c', 'import ctypes']).status === 0;

  // 60 is the number of the system call `exit` on x86-64, which ends one thread.
  (hasPython && process.platform === 'linux' && process.arch === 'x64' ? test : test.skip)(
    'is alive while a thread works whose process looks like a zombie, because its first thread has ended',
    async () => {
      const program = `
import ctypes, threading, time
threading.Thread(target=lambda: time.sleep(60)).start()
ctypes.CDLL(None).syscall(60, 0)`;
      const session = await startSession('python3', '-c', program);
      await eventually('the end of the first thread', () => processState(session.id)?.state === 'Z');
      expect(session.isAlive).toBe(true);
    },
  );
});

describe('hold bound', () => {
  const DAY_MS = 86_400_000;

  let now: number;
  let passed: number;
  let bound: HoldBound | undefined;

  beforeEach(() => {
    jest.useFakeTimers();
    now = 0;
    passed = 0;
  });

  afterEach(() => {
    bound?.clear();
    jest.useRealTimers();
  });

  function start(maxHoldMs: number | undefined): HoldBound {
    bound = new HoldBound(
      maxHoldMs,
      () => passed++,
      () => now,
    );
    return bound;
  }

  /** Moves the clock and the timers, in steps of at most a minute. */
  function pass(ms: number): void {
    for (let left = ms; left > 0; left -= 60_000) {
      const step = Math.min(left, 60_000);
      now += step;
      jest.advanceTimersByTime(step);
    }
  }

  test('passes once, after its time', () => {
    const { hasPassed } = start(300);
    expect(hasPassed).toBe(false);
    pass(299);
    expect(passed).toBe(0);
    pass(1);
    expect([passed, bound?.hasPassed]).toEqual([1, true]);
    pass(DAY_MS);
    expect(passed).toBe(1);
  });

  // A timer of Node with more than 2^31-1 ms fires after 1 ms.
  test('passes after its time if the time is longer than a timer of Node can be', () => {
    start(30 * DAY_MS);
    pass(29 * DAY_MS);
    expect(passed).toBe(0);
    pass(DAY_MS);
    expect(passed).toBe(1);
  });

  test('passes after the sleep of a machine that was suspended beyond the time', () => {
    start(10 * DAY_MS);
    now += 11 * DAY_MS;
    jest.advanceTimersByTime(60_000);
    expect(passed).toBe(1);
  });

  test('never passes without a time', () => {
    start(undefined);
    pass(DAY_MS);
    expect(passed).toBe(0);
  });
});

describe('run limits', () => {
  test('gives a quarter of the ttl to the command, and a tenth to the end of its processes', () => {
    expect(runLimits(10_000)).toEqual({ graceMs: 2500, marginMs: 1000 });
  });

  test('bounds the margin to 250 ms to 2 s', () => {
    expect(runLimits(2000).marginMs).toBe(250);
    expect(runLimits(120_000).marginMs).toBe(2000);
  });

  test('takes a grace up to half of the ttl without the margin, so that a late renewal ends no command', () => {
    expect(runLimits(10_000, 4000)).toEqual({ graceMs: 4000, marginMs: 1000 });
    expect(() => runLimits(10_000, 4001)).toThrow(
      '--grace must be at most 4s with a ttl of 10s: use a longer --ttl',
    );
  });

  test('takes a grace of 0, which means SIGKILL at once', () => {
    expect(runLimits(10_000, 0).graceMs).toBe(0);
  });

  test('refuses a ttl that is too short for a busy machine', () => {
    expect(() => runLimits(1999)).toThrow('--ttl must be at least 2s to run a command');
  });
});
