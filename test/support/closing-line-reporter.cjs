'use strict';
const { writeFileSync } = require('node:fs');

/**
 * Writes the result of a run, such as `10 passed, 0 failed`, to the file that TEST_RUN_SUMMARY names. The last line of
 * `.ci/run` is the sum of these files. A test file that cannot be run counts as one failure.
 */
class ClosingLineReporter {
  onRunComplete(_contexts, results) {
    const file = process.env.TEST_RUN_SUMMARY;
    if (!file) return;
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const skipped = results.numPendingTests > 0 ? `, ${results.numPendingTests} skipped` : '';
    writeFileSync(file, `${results.numPassedTests} passed, ${failed} failed${skipped}\n`);
  }
}

module.exports = ClosingLineReporter;
