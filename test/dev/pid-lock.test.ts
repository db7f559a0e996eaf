import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { processStart, takePidLock, tryPidLock } from '../../src/dev/pid-lock.cjs';
import { scratchFolder } from '../support/scratch-folder';

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
    const ended = spawnSync(process.execPath, ['-e', '']).pid;
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
    const ended = spawnSync(process.execPath, ['-e', 'console.log(process.pid)']).stdout.toString();
    expect(processStart(Number(ended))).toBeUndefined();
  });
});
