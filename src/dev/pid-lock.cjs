'use strict';
/**
 * A lock between processes of one machine: a file that names its owner, and that ends with it.
 *
 * Plain JavaScript, because `prepare.mjs` takes it before anything is installed or built; `npm start` takes one
 * for the folder of its Redis. An owner is known by its process id *and* its birth, for process ids are used
 * again: after a power loss, or in a container where everything is process 7, a file that is left over must
 * not look like a living owner.
 */
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

/** A lock file without content this long was left by a writer that died between creating and writing it. */
const HALF_WRITTEN_MS = 5_000;
const POLL_MS = 100;

/**
 * When a process was born, as a text that no other process of this machine ever has; undefined when there is
 * no such process (a zombie is none: it holds nothing any more).
 */
function birthOf(pid) {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The command in brackets may itself hold spaces and brackets, so count from the last one.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
    return `${fs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}:${fields[19]}`;
  } catch {
    if (process.platform === 'linux') return undefined;
  }
  try {
    return (
      execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], {
        encoding: 'utf8',
      }).trim() || undefined
    );
  } catch {
    return undefined;
  }
}

/** The content of the file, or undefined where there is none. */
function readIfThere(file) {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function createIfAbsent(file, content) {
  try {
    fs.writeFileSync(file, content, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

function ageMs(file) {
  try {
    return Date.now() - fs.statSync(file).mtimeMs;
  } catch {
    return 0;
  }
}

/** The other one's turn lasts microseconds: not worth giving the whole function a promise. */
function sleepSync(ms) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

function parseOwner(content) {
  try {
    const owner = JSON.parse(content);
    return Number.isInteger(owner.pid) ? owner : undefined;
  } catch {
    return undefined;
  }
}

/** The living owner that a lock file's content names; undefined when the file is a leftover. */
function livingOwner(file, content) {
  const owner = parseOwner(content);
  if (owner) return birthOf(owner.pid) === owner.birth ? owner : undefined;
  return ageMs(file) < HALF_WRITTEN_MS ? { pid: 0, birth: '' } : undefined;
}

/**
 * Removes a leftover. Two who both see it must not remove each other's new lock: so one at a time, and only
 * while the content is still the one that was judged.
 */
function removeLeftover(file, judged) {
  const turn = `${file}.takeover`;
  if (!createIfAbsent(turn, '')) {
    if (ageMs(turn) > HALF_WRITTEN_MS) fs.rmSync(turn, { force: true });
    else sleepSync(5);
    return;
  }
  try {
    if (readIfThere(file) === judged) fs.rmSync(file, { force: true });
  } finally {
    fs.rmSync(turn, { force: true });
  }
}

/**
 * Takes the lock if it is free.
 * @param {string} file
 * @returns {{ taken: true, release: () => void } | { taken: false, pid: number }}
 */
function tryPidLock(file) {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  const mine = JSON.stringify({
    pid: process.pid,
    birth: birthOf(process.pid),
    nonce: Math.random(),
  });
  for (;;) {
    if (createIfAbsent(file, mine)) {
      const release = () => {
        process.removeListener('exit', release);
        if (readIfThere(file) === mine) fs.rmSync(file, { force: true });
      };
      process.on('exit', release);
      return { taken: true, release };
    }
    const content = readIfThere(file);
    if (content === undefined) continue;
    const owner = livingOwner(file, content);
    if (owner) return { taken: false, pid: owner.pid };
    removeLeftover(file, content);
  }
}

/**
 * Waits for the lock as long as its owner lives.
 * @param {string} file
 * @param {(pid: number) => void} onWait called once, when there is somebody to wait for
 * @returns {Promise<() => void>} gives the lock back
 */
async function takePidLock(file, onWait) {
  for (let waited = false; ; waited = true) {
    const attempt = tryPidLock(file);
    if (attempt.taken) return attempt.release;
    if (!waited) onWait(attempt.pid);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

module.exports = { birthOf, tryPidLock, takePidLock };
