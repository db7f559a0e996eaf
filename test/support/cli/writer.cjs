'use strict';

/**
 * The command of the kill tests: appends "write TOKEN PID TIME" to a file every 2 ms until it is killed.
 * TIME is the monotonic clock of the machine in nanoseconds.
 *
 *     node writer.cjs FILE [stubborn] [family]
 *
 * stubborn: ignores SIGTERM, SIGINT and SIGHUP. family: starts a child that writes too, and that starts another one.
 */
const { spawn } = require('node:child_process');
const { openSync, writeSync } = require('node:fs');
const { setInterval } = require('node:timers');

const [, program, file, ...modes] = process.argv;
if (modes.includes('stubborn')) {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => undefined);
}
const rest = modes.filter((mode) => mode !== 'family');
if (modes.includes('family')) start(['family2']);
if (modes.includes('family2')) start([]);

function start(more) {
  const kept = rest.filter((mode) => mode !== 'family2');
  spawn(process.execPath, [program, file, ...kept, ...more], { stdio: 'inherit' });
}

// The kernel puts appends in order, so the order of the lines is the order of the writes.
const log = openSync(file, 'a');
const prefix = `write ${process.env.HOLDFAST_FENCING_TOKEN} ${process.pid}`;
setInterval(() => writeSync(log, `${prefix} ${process.hrtime.bigint()}\n`), 2);
