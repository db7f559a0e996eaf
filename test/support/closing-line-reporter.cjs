'use strict';
const { writeFileSync } = require('node:fs');

/**
 * Writes what a run came to, `N passed, N failed`, to the file that TEST_RUN_SUMMARY names; .ci/run prints it
 * last. A test file that could not be run at all counts as one failure.
 */
class ClosingLineReporter {
  onRunComplete(_contexts, results) {
    const file = process.env.TEST_RUN_SUMMARY;
    if (!file) return;
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    writeFileSync(file, `${results.numPassedTests} passed, ${failed} failed\n`);
  }
}

module.exports = ClosingLineReporter;
