'use strict';

/**
 * `npm run test:slow`: the files named `*.slow.test.ts`, which `npm test` leaves out, and with a longer time for random
 * inputs (support/timed-property.ts) the files named `*properties.test.ts`.
 */
process.env.TEST_LONG_PROPERTIES = 'yes';

/** @type {import('jest').Config} */
module.exports = {
  ...require('./jest.config.cjs'),
  testMatch: ['<rootDir>/test/**/*.slow.test.ts', '<rootDir>/test/**/*properties.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  testTimeout: 240_000,
  // A test file starts up to seven Redis processes, so more than two files at once would need more than two cores.
  // With one worker, Jest runs the tests in its own process and does not exit while a failed test leaves a timer.
  maxWorkers: 2,
};
