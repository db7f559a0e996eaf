'use strict';
/**
 * A lock between the processes of one machine. The lock file names its owner by process id *and* start time, because
 * another process may later have the same id, for example after a power loss or in a container. The lock is free if the
 * owner has ended.
 *
 * This module is plain JavaScript, because `prepare.mjs` uses it before packages are installed and code is built.
 * `npm start` uses the lock for the folder of its Redis.
 */
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

/** If a lock file stays empty for this time, its process died before the content was written. */
const EMPTY_FILE_MS = 5_000;
const POLL_MS = 100;

/**
 * The boot id of the machine and the start time of a process. Together with the process id they identify one process.
 * Undefined if the process does not exist. A zombie counts as ended.
 */
function processStart(pid) {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The fields are counted from the last bracket, because the command name may contain spaces and brackets.
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

/** The content of the file. Undefined: the file does not exist. */
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

/** Blocks the thread. A blocking wait is acceptable, because the other process needs only microseconds. */
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

/** The owner that the content of a lock file names. Undefined: this process has ended, so the file is a leftover. */
function livingOwner(file, content) {
  const owner = parseOwner(content);
  if (owner) {
    const start = processStart(owner.pid);
    return start !== undefined && start === owner.birth ? owner : undefined;
  }
  return ageMs(file) < EMPTY_FILE_MS ? { pid: 0, birth: '' } : undefined;
}

/**
 * Removes a leftover lock file. Two processes may see the same leftover, and neither may remove the new lock of the
 * other. So a second file admits one process at a time. This process removes the lock file if its content is unchanged.
 */
function removeLeftover(file, seenContent) {
  const takeover = `${file}.takeover`;
  if (!createIfAbsent(takeover, '')) {
    if (ageMs(takeover) > EMPTY_FILE_MS) fs.rmSync(takeover, { force: true });
    else sleepSync(5);
    return;
  }
  try {
    if (readIfThere(file) === seenContent) fs.rmSync(file, { force: true });
  } finally {
    fs.rmSync(takeover, { force: true });
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
    // Earlier versions also read the field `birth`, and must respect the lock of this version.
    birth: processStart(process.pid),
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
 * Waits until the lock is free, then takes the lock.
 * @param {string} file
 * @param {(pid: number) => void} onWait called once with the owner's process id, if another process has the lock
 * @returns {Promise<() => void>} a function that releases the lock
 */
async function takePidLock(file, onWait) {
  for (let waited = false; ; waited = true) {
    const attempt = tryPidLock(file);
    if (attempt.taken) return attempt.release;
    if (!waited) onWait(attempt.pid);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

module.exports = { processStart, tryPidLock, takePidLock };
