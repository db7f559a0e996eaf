'use strict';

/**
 * A fault for the tests of `lock run`, by NODE_OPTIONS=--require: the process of holdfast that starts the command stops itself
 * (SIGSTOP) when the command runs, before it can tell anybody of the start.
 */
const childProcess = require('node:child_process');

const HELPERS = ['watchdog.js', 'launcher.js'];
const isHelper = (path) => HELPERS.some((helper) => String(path).endsWith(helper));

if (isHelper(process.argv[1])) {
  const { spawn } = childProcess;
  childProcess.spawn = (command, args, options) => {
    const child = spawn(command, args, options);
    if (!isHelper(args[0])) {
      process.kill(process.pid, 'SIGSTOP');
      // The kernel may take a moment to stop this thread.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000);
    }
    return child;
  };
}
