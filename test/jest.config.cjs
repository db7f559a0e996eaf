'use strict';

const SWC = require('../tools/swc-options.cjs');

/** @type {import('jest').Config} */
module.exports = {
  rootDir: '..',
  roots: ['<rootDir>/test'],
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  // `npm run test:slow` runs the slow tests.
  testPathIgnorePatterns: ['/node_modules/', '\\.slow\\.test\\.ts$'],
  transform: {
    // As the build, but a test cannot run `import()`.
    '^.+\\.ts$': ['@swc/jest', { ...SWC, sourceMaps: 'inline', module: { type: 'commonjs' } }],
  },
  moduleFileExtensions: ['ts', 'js', 'cjs', 'mjs', 'json', 'node'],
  // As "paths" of tsconfig.json.
  moduleNameMapper: {
    '^@holdfast/client$': '<rootDir>/clients/typescript/index.ts',
    // An `import()` in src/cli names the compiled file.
    '^(\\.\\./(?:\\.\\./(?:server|access)/.+|calls))\\.js$': '$1',
  },
  // The files in dist/ have the same module names as their sources.
  modulePathIgnorePatterns: ['<rootDir>/dist/'],
  // Compiles each module once for all test files of a worker.
  runtime: '<rootDir>/test/support/jest-runtime.cjs',
  testSequencer: '<rootDir>/test/support/longest-first.cjs',
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  reporters: ['default', '<rootDir>/test/support/closing-line-reporter.cjs'],
  // Long enough for a machine with busy cores. On an idle machine most tests take less than a second.
  testTimeout: 90_000,
  // Many tests wait for a part of their time, so four workers keep two cores busy.
  maxWorkers: 4,
  // Of the tests of one file that say `test.concurrent`: most of them only wait.
  maxConcurrency: 12,
  // At its end a worker frees up to 1 GB of memory. On a busy machine this takes longer than the default of 500 ms.
  workerGracefulExitTimeout: 10_000,
};
