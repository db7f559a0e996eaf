'use strict';

/** @type {import('jest').Config} */
module.exports = {
  rootDir: '..',
  roots: ['<rootDir>/test'],
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  // `npm run test:slow` runs these.
  testPathIgnorePatterns: ['/node_modules/', '\\.slow\\.test\\.ts$'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        swcrc: false,
        sourceMaps: 'inline',
        module: { type: 'commonjs' },
        jsc: { target: 'es2022', parser: { syntax: 'typescript' }, keepClassNames: true },
      },
    ],
  },
  moduleFileExtensions: ['ts', 'js', 'cjs', 'mjs', 'json', 'node'],
  // What is built has the same names as what it is built from.
  modulePathIgnorePatterns: ['<rootDir>/dist/'],
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  reporters: ['default', '<rootDir>/test/support/closing-line-reporter.cjs'],
  // Suits a machine with busy cores: on an idle machine most tests take less than a second.
  testTimeout: 90_000,
  // Tests measure times: more at once than there are cores would measure each other.
  maxWorkers: 2,
};
