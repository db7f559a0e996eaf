'use strict';
/**
 * The guard of a test run: ends the programs that the run leaves behind, also after SIGKILL of the run or of one of its
 * workers. One small process for the whole run, because a supervisor for each program took a tenth of a second each.
 *
 * Each process that starts programs connects to the socket (run-guard.ts), and says in lines what must not outlive it:
 * `runs PID`, `ended PID`, `made FOLDER` and `removed FOLDER`. The end of the connection ends what is left.
 */
const { rmSync } = require('node:fs');
const { createServer } = require('node:net');
const { createInterface } = require('node:readline');

const [, , path] = process.argv;
const connections = new Set();

const server = createServer((connection) => {
  const [pids, folders] = [new Set(), new Set()];
  const noted = {
    runs: (pid) => pids.add(Number(pid)),
    ended: (pid) => pids.delete(Number(pid)),
    made: (folder) => folders.add(folder),
    removed: (folder) => folders.delete(folder),
  };
  connections.add(connection);
  // 'close' follows.
  connection.on('error', () => undefined);
  createInterface({ input: connection })
    .on('error', () => undefined)
    .on('line', (line) => {
      const [, word, what] = /^(\w+) (.*)$/.exec(line) ?? [];
      noted[word]?.(what);
    });
  connection.on('close', () => {
    connections.delete(connection);
    for (const pid of pids) kill(pid);
    // A program that was killed just now may still write into its folder.
    for (const folder of folders) remove(folder);
  });
});
server.listen(path, () => process.send('listens'));

function kill(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The program has ended, and its parent had no time to say so.
  }
}

function remove(folder) {
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  } catch (error) {
    console.error(`the guard of the tests cannot remove ${folder}: ${error.message}`);
  }
}

/** The test run has ended. */
function end() {
  rmSync(path, { force: true });
  server.close();
  for (const connection of connections) connection.destroy();
}
process.on('disconnect', end);
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => process.disconnect());
