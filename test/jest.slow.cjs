'use strict';

const { readdirSync, readFileSync } = require('node:fs');
const { join } = require('node:path');

/**
 * `npm run test:slow`: the files named `*.slow.test.ts`, which `npm test` leaves out, and with a longer time for random
 * inputs the files with properties, which import support/timed-property.ts.
 */
process.env.TEST_LONG_PROPERTIES = 'yes';

const withProperties = readdirSync(__dirname, { recursive: true })
  .filter((name) => name.endsWith('.test.ts'))
  .filter((name) => readFileSync(join(__dirname, name), 'utf8').includes("/timed-property';"))
  .map((name) => `<rootDir>/test/${name}`);

/** @type {import('jest').Config} */
module.exports = {
  ...require('./jest.config.cjs'),
  testMatch: ['<rootDir>/test/**/*.slow.test.ts', ...withProperties],
  testPathIgnorePatterns: ['/node_modules/'],
  testTimeout: 240_000,
  // Many tests wait for a part of their time.
  maxWorkers: 3,
  // Jest's default, because many concurrent tests start a Redis of their own.
  maxConcurrency: 5,
};
