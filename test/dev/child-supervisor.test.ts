import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { type ChildExit, ChildSupervisor, type ChildSupervisorOptions } from '../../src/dev/child-supervisor';
import { BoundedLog } from '../../src/dev/child-supervisor-main';
import { processStart, takePidLock, tryPidLock } from '../../src/dev/pid-lock.cjs';
import { eventually } from '../support/eventually';
import { isAlive, untilGone } from '../support/processes/child-program';
import { scratchFolder } from '../support/scratch-folder';

const BUILT_SUPERVISOR = resolve(__dirname, '../../dist/src/dev/child-supervisor.js');
/** A child that ignores SIGTERM. The line "ready" shows that the child ignores the signal from now on. */
const STUBBORN = "trap '' TERM; echo ready; exec sleep 600";
const IDLE = 'exec sleep 600';

/** A field of /proc/<pid>/stat. Index 0 is the first field after the command. */
function statField(pid: number, index: number): string | undefined {
  return readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/.*\) /, '').split(' ')[index];
}

function options(more: Partial<ChildSupervisorOptions> = {}): ChildSupervisorOptions {
  return { command: 'sh', args: ['-c', IDLE], env: process.env, graceMs: 300, ...more };
}

/** Starts a parent process that supervises a child and prints the child's process id. */
async function startParent(
  more: Partial<ChildSupervisorOptions>,
): Promise<{ parent: ChildProcess; child: number }> {
  const program = `
    const { ChildSupervisor } = require(${JSON.stringify(BUILT_SUPERVISOR)});
    new ChildSupervisor(${JSON.stringify(options(more))}).start().then((pid) => console.log(pid));
    setInterval(() => {}, 1000);
  `;
  const parent = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(parent.stdout, 'data')) as [Buffer];
  return { parent, child: Number(line.toString()) };
}

describe('ChildSupervisor', () => {
  it('ends the child and removes the `removeAtEnd` folder within 5 s when the parent is killed', async () => {
    const folder = scratchFolder();
    const { parent, child } = await startParent({ removeAtEnd: folder });
    expect(isAlive(child)).toBe(true);
    parent.kill('SIGKILL');
    await untilGone(child, 5_000);
    await eventually('the folder to be removed', () => !existsSync(folder));
  });

  it('ends a child that ignores SIGTERM when the parent is killed', async () => {
    const { parent, child } = await startParent({ args: ['-c', STUBBORN] });
    parent.kill('SIGKILL');
    await untilGone(child, 5_000);
  });

  it('does not end the child while the parent is paused by SIGSTOP', async () => {
    const { parent, child } = await startParent({});
    parent.kill('SIGSTOP');
    await new Promise((done) => setTimeout(done, 1_000));
    expect(isAlive(child)).toBe(true);
    parent.kill('SIGCONT');
    parent.kill('SIGKILL');
    await untilGone(child, 5_000);
  });

  it('starts the child in its own process group and session, which Ctrl-C does not reach', async () => {
    const supervisor = new ChildSupervisor(options());
    const child = await supervisor.start();
    // Fields 2 and 3 are the process group and the session. The terminal sends Ctrl-C only to its foreground group.
    expect(statField(child, 2)).not.toBe(statField(process.pid, 2));
    expect(statField(child, 3)).not.toBe(statField(process.pid, 3));
    await supervisor.end();
  });

  it('ends the child when the lifeline socket closes', async () => {
    const socket = join(scratchFolder(), 'line.sock');
    const server = createServer();
    const connected = once(server, 'connection');
    server.listen(socket);
    const supervisor = new ChildSupervisor(options({ lifeline: socket }));
    const child = await supervisor.start();
    const [line] = (await connected) as [{ destroy(): void }];
    expect(isAlive(child)).toBe(true);
    line.destroy();
    await untilGone(child, 5_000);
    server.close();
  });

  it('kills a child that ignores SIGTERM only after `graceMs`', async () => {
    const output: string[] = [];
    const exits: ChildExit[] = [];
    const supervisor = new ChildSupervisor(
      options({
        args: ['-c', STUBBORN],
        onExit: (exit) => exits.push(exit),
        onOutput: (stdout) => stdout.on('data', (chunk: Buffer) => output.push(chunk.toString())),
      }),
    );
    await supervisor.start();
    await eventually('the child to be ready', () => output.join('').includes('ready'));
    const started = performance.now();
    await supervisor.end();
    expect(performance.now() - started).toBeGreaterThanOrEqual(290);
    expect(exits).toEqual([{ code: null, signal: 'SIGKILL' }]);
  });

  it('reports the end of the output of an ended child, even if the log file cannot be written', async () => {
    const program = "console.log('x'.repeat(20_000)); console.error('the reason'); process.exit(3)";
    for (const logFile of [join(scratchFolder(), 'log'), scratchFolder()]) {
      const exits: ChildExit[] = [];
      const supervisor = new ChildSupervisor(
        options({
          command: process.execPath,
          args: ['-e', program],
          logFile,
          onExit: (exit) => exits.push(exit),
        }),
      );
      await supervisor.start();
      const [exit] = await eventually('the exit', () => exits.length > 0 && exits);
      expect(exit).toMatchObject({ code: 3, signal: null });
      expect(exit?.lastOutput).toHaveLength(8 * 1024);
      expect(exit?.lastOutput).toContain('the reason');
      await supervisor.end();
    }
  });

  it('starts the child again after it has ended', async () => {
    const exits: ChildExit[] = [];
    const supervisor = new ChildSupervisor(options({ onExit: (exit) => exits.push(exit) }));
    const first = await supervisor.start();
    supervisor.signal('SIGKILL');
    await eventually('onExit to be called', () => exits.length === 1);
    expect(supervisor.pid).toBeUndefined();
    const second = await supervisor.start();
    expect(second).not.toBe(first);
    expect(isAlive(second)).toBe(true);
    await supervisor.end();
    expect(isAlive(second)).toBe(false);
  });

  it('kills the child when the supervisor process is killed', async () => {
    const exits: ChildExit[] = [];
    const supervisor = new ChildSupervisor(options({ onExit: (exit) => exits.push(exit) }));
    const child = await supervisor.start();
    process.kill(Number(statField(child, 1)), 'SIGKILL');
    await untilGone(child, 5_000);
    await eventually('onExit to be called', () => exits.length === 1);
    const second = await supervisor.start();
    expect(isAlive(second)).toBe(true);
    await supervisor.end();
  });

  it('rejects with the reason when the program cannot be run', async () => {
    const supervisor = new ChildSupervisor(options({ command: '/no/such/program' }));
    await expect(supervisor.start()).rejects.toThrow(/no\/such\/program.*ENOENT/);
    await supervisor.end();
  });
});

const MODULE = resolve(__dirname, '../../src/dev/pid-lock.cjs');

/** Starts a process that takes the lock, prints the result, and keeps the lock. */
async function holder(file: string): Promise<ChildProcess> {
  const program = `
    const lock = require(${JSON.stringify(MODULE)}).tryPidLock(${JSON.stringify(file)});
    console.log(lock.taken);
    setInterval(() => {}, 1000);
  `;
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [answer] = (await once(child.stdout, 'data')) as [Buffer];
  expect(answer.toString().trim()).toBe('true');
  return child;
}

describe('the pid lock', () => {
  let file: string;
  beforeEach(() => {
    file = join(scratchFolder(), 'some', 'folder', 'a.lock');
  });

  it('is refused while another process holds the lock, and the answer has the id of that process', async () => {
    const owner = await holder(file);
    expect(tryPidLock(file)).toEqual({ taken: false, pid: owner.pid });
    owner.kill('SIGKILL');
  });

  it('is free again when its owner is killed', async () => {
    const owner = await holder(file);
    let waitedFor: number | undefined;
    const taken = takePidLock(file, (pid) => (waitedFor = pid));
    owner.kill('SIGKILL');
    const release = await taken;
    expect(waitedFor).toBe(owner.pid);
    release();
    expect(existsSync(file)).toBe(false);
  });

  it('is free when the process id of the owner now belongs to another process', () => {
    const lock = tryPidLock(file);
    expect(lock.taken).toBe(true);
    const mine = JSON.parse(readFileSync(file, 'utf8')) as { birth: string };
    expect(mine.birth).toBe(processStart(process.pid));
    writeFileSync(file, JSON.stringify({ ...mine, birth: `${mine.birth}0` }));
    expect(tryPidLock(file).taken).toBe(true);
  });

  it('is free when the file names an ended process and no start time', () => {
    const ended = spawnSync('true').pid;
    tryPidLock(join(file, '..', 'other'));
    writeFileSync(file, JSON.stringify({ pid: ended }));
    expect(tryPidLock(file).taken).toBe(true);
  });

  it('counts as held while an empty lock file is new, and as free when an empty lock file is a minute old', () => {
    tryPidLock(join(file, '..', 'other'));
    writeFileSync(file, '');
    expect(tryPidLock(file).taken).toBe(false);
    const past = Date.now() / 1000 - 60;
    utimesSync(file, past, past);
    expect(tryPidLock(file).taken).toBe(true);
  });

  it('admits one process at a time, even if ended processes leave lock files', async () => {
    const log = join(scratchFolder(), 'log');
    const program = `
      const fs = require('node:fs');
      const { takePidLock } = require(${JSON.stringify(MODULE)});
      (async () => {
        for (let i = 0; i < 10; i++) {
          const release = await takePidLock(${JSON.stringify(file)}, () => {});
          fs.appendFileSync(${JSON.stringify(log)}, 'in\\n');
          await new Promise((resolve) => setTimeout(resolve, 2));
          fs.appendFileSync(${JSON.stringify(log)}, 'out\\n');
          // Every second round leaves a lock file behind, as a process does that dies.
          if (i % 2) release();
          else fs.writeFileSync(${JSON.stringify(file)}, JSON.stringify({ pid: 1, birth: 'never' }));
        }
      })();
    `;
    const children = Array.from({ length: 4 }, () => spawn(process.execPath, ['-e', program]));
    await Promise.all(children.map((child) => once(child, 'exit')));
    const words = readFileSync(log, 'utf8').trim().split('\n');
    expect(words).toHaveLength(80);
    expect(words.filter((word, i) => word !== (i % 2 === 0 ? 'in' : 'out'))).toEqual([]);
  });

  it('processStart returns the start time of a running process, and undefined for an ended process', () => {
    expect(processStart(process.pid)).toBe(processStart(process.pid));
    expect(processStart(spawnSync('true').pid)).toBeUndefined();
  });
});

describe('BoundedLog', () => {
  it('never takes more disk space than twice its limit, and keeps the latest lines', () => {
    const file = join(scratchFolder(), 'a', 'redis.log');
    const log = new BoundedLog(file, 1_000);
    for (let i = 0; i < 500; i++) log.write(Buffer.from(`line ${i}\n`));
    expect(statSync(file).size + statSync(`${file}.1`).size).toBeLessThanOrEqual(2_000);
    expect(readFileSync(file, 'utf8')).toMatch(/line 499\n$/);
  });

  it('appends to the file of an earlier run', () => {
    const file = join(scratchFolder(), 'redis.log');
    new BoundedLog(file, 1_000).write(Buffer.from('one\n'));
    new BoundedLog(file, 1_000).write(Buffer.from('two\n'));
    expect(readFileSync(file, 'utf8')).toBe('one\ntwo\n');
  });

  it('keeps the output in memory while the file cannot be written, and writes it as soon as possible', () => {
    const file = join(scratchFolder(), 'redis.log');
    // A folder in place of the file makes every write fail.
    mkdirSync(file);
    const log = new BoundedLog(file, 1_000_000);
    log.write(Buffer.from('No space left on device\n'));
    log.write(Buffer.from('Exiting\n'));
    rmdirSync(file);
    log.write(Buffer.from('Starting\n'));
    expect(readFileSync(file, 'utf8')).toBe('No space left on device\nExiting\nStarting\n');
  });

  it('keeps the last 64 KiB of the output while the file cannot be written, and tells how much was lost', () => {
    const file = join(scratchFolder(), 'redis.log');
    mkdirSync(file);
    const log = new BoundedLog(file, 1_000_000);
    const lines = Array.from({ length: 1500 }, (_, n) => `line ${n} ${'x'.repeat(70)}\n`);
    for (const line of lines) log.write(Buffer.from(line));
    rmdirSync(file);
    log.write(Buffer.from('end\n'));
    const [note = '', ...rest] = readFileSync(file, 'utf8').split('\n');
    const lost = Number(/^\[(\d+) bytes are missing here/.exec(note)?.[1]);
    const kept = rest.join('\n');
    expect(lost + kept.length).toBe(lines.join('').length + 'end\n'.length);
    expect(kept.length).toBe(64 * 1024 + 'end\n'.length);
    expect(kept.endsWith(`${lines.at(-1)}end\n`)).toBe(true);
  });

  (existsSync('/dev/full') ? it : it.skip)('does not throw when the disk is full', () => {
    const log = new BoundedLog('/dev/full', 10_000_000);
    for (let n = 0; n < 100; n += 1) expect(() => log.write(Buffer.alloc(10_000))).not.toThrow();
  });

  it('does not throw when its folder has been removed', () => {
    const file = join(scratchFolder(), 'redis.log');
    const log = new BoundedLog(file, 10);
    rmSync(dirname(file), { recursive: true });
    expect(() => log.write(Buffer.from('longer than the limit\n'))).not.toThrow();
  });
});
