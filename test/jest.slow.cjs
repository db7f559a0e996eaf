'use strict';

/** `npm run test:slow`: the files named `*.slow.test.ts`, which `npm test` leaves out. */

/** @type {import('jest').Config} */
module.exports = {
  ...require('./jest.config.cjs'),
  testMatch: ['<rootDir>/test/**/*.slow.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  testTimeout: 240_000,
  // A file starts up to seven Redis processes, and their timeouts of each other run on under load.
  maxWorkers: 1,
  // One worker is this process itself. A handle that a test file leaves open would keep the run from ending.
  forceExit: true,
};
