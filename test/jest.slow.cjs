'use strict';

/** `npm run test:slow`: the files named `*.slow.test.ts`, which `npm test` leaves out. */

/** @type {import('jest').Config} */
module.exports = {
  ...require('./jest.config.cjs'),
  testMatch: ['<rootDir>/test/**/*.slow.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  testTimeout: 240_000,
  // A test file starts up to seven Redis processes. Under load they would miss each other's timeouts.
  maxWorkers: 1,
};
