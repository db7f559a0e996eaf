'use strict';
const { writeFileSync } = require('node:fs');
const { relative } = require('node:path');
const { stripVTControlCharacters } = require('node:util');

/** Enough for what was expected and received, and for where. */
const LINES_OF_A_FAILURE = 25;

/**
 * Writes the result of a run, such as `10 passed, 0 failed`, and then its failures to the file that TEST_RUN_SUMMARY names.
 * `.ci/run` shows the failures of all suites at its end, and its last line is the sum. A test file that cannot be run
 * counts as one failure.
 */
class ClosingLineReporter {
  onRunComplete(_contexts, results) {
    const file = process.env.TEST_RUN_SUMMARY;
    if (!file) return;
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const skipped = results.numPendingTests > 0 ? `, ${results.numPendingTests} skipped` : '';
    const result = `${results.numPassedTests} passed, ${failed} failed${skipped}`;
    writeFileSync(file, [result, ...results.testResults.flatMap(failuresOf), ''].join('\n'));
  }
}

function failuresOf({ testFilePath, testExecError, testResults }) {
  const name = relative(process.cwd(), testFilePath);
  const failures = testResults.filter(({ status }) => status === 'failed');
  return [
    ...(testExecError ? [`FAILED ${name}`, ...shortened(testExecError.stack ?? testExecError.message)] : []),
    ...failures.flatMap(({ fullName, failureMessages }) => [
      `FAILED ${name}: ${fullName}`,
      ...shortened(failureMessages.join('\n')),
    ]),
  ];
}

function shortened(text) {
  const lines = stripVTControlCharacters(String(text))
    .split('\n')
    .filter((line) => !/^ +at .*(node_modules|node:internal)/.test(line));
  return lines.slice(0, LINES_OF_A_FAILURE).map((line) => `  ${line}`);
}

module.exports = ClosingLineReporter;
