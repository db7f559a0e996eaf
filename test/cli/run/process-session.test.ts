import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { ProcessSession } from '../../../src/cli/run/processes';
import { eventually } from '../../support/eventually';
import { allProcesses, isRunning, processState } from '../../support/cli/cli-process';

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
  return allProcesses().flatMap((one) => (one.session === session.id && isRunning(one.pid) ? [one.pid] : []));
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
