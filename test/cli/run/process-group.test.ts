import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { ProcessGroup } from '../../../src/cli/run/process-group';
import { eventually } from '../../support/eventually';
import { allProcesses, isRunning, processState } from '../../support/cli/processes';

const children: ChildProcess[] = [];

afterEach(() => {
  for (const { pid } of children.splice(0)) {
    try {
      if (pid !== undefined) process.kill(-pid, 'SIGKILL');
    } catch {
      // The group has ended.
    }
  }
});

async function startGroup(command: string, ...args: string[]): Promise<ProcessGroup> {
  const child = spawn(command, args, { detached: true, stdio: ['ignore', 'ignore', 'inherit'] });
  children.push(child);
  await once(child, 'spawn');
  return new ProcessGroup(child.pid ?? NaN);
}

function membersOf(group: ProcessGroup): number[] {
  return allProcesses().flatMap((one) => (one.group === group.id && isRunning(one.pid) ? [one.pid] : []));
}

test('is alive until its last process has ended', async () => {
  const group = await startGroup('sh', '-c', 'sleep 60 & sleep 60 & exit 0');
  await eventually('the end of the shell', () => processState(group.id) === undefined);
  expect(group.isAlive).toBe(true);
  group.signal('SIGKILL');
  await eventually('the end of the group', () => !group.isAlive);
  expect(membersOf(group)).toEqual([]);
});

test('signals all processes of the group', async () => {
  const group = await startGroup('sh', '-c', 'sleep 60 & sleep 60 & wait');
  await eventually('three processes', () => membersOf(group).length === 3);
  group.signal('SIGTERM');
  await eventually('the end of the group', () => !group.isAlive);
});

test('is not alive if only a zombie is left, which nobody collects', async () => {
  // The outer shell becomes a program that collects no children. Its child becomes the first process of a group.
  const outer = await startGroup('sh', '-c', 'setsid sh -c "exit 0" & exec sleep 60');
  const zombie = await eventually('a zombie', () =>
    allProcesses().find((one) => one.parent === outer.id && one.state === 'Z'),
  );
  expect(zombie.group).toBe(zombie.pid);
  expect(new ProcessGroup(zombie.group).isAlive).toBe(false);
});

test('sends no signal after its end, because another program may have its number', async () => {
  const group = await startGroup('true');
  await eventually('the end of the group', () => !group.isAlive);
  const kill = jest.spyOn(process, 'kill');
  group.signal('SIGKILL');
  expect(group.isAlive).toBe(false);
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
    const group = await startGroup('python3', '-c', program);
    await eventually('the end of the first thread', () => processState(group.id)?.state === 'Z');
    expect(group.isAlive).toBe(true);
  },
);
