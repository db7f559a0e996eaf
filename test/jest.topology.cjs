'use strict';

/** `npm run test:topology`: all of test/topology, which the tests for every day leave out. */

/** @type {import('jest').Config} */
module.exports = {
  ...require('./jest.config.cjs'),
  testMatch: ['<rootDir>/test/topology/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  testTimeout: 120_000,
  // Each file has up to seven Redis processes, whose clocks for each other run on.
  maxWorkers: 1,
};
