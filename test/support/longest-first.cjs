'use strict';
const { existsSync } = require('node:fs');
const { join } = require('node:path');
const Sequencer = require('@jest/test-sequencer').default;

/**
 * In a fresh clone Jest knows no times, and would start the largest files first. But long tests often have small files, and
 * a long file that starts last keeps one core waiting. So these always start first. They take a minute or more, or 15 s in
 * `npm test`; the longest is the first.
 */
const LONGEST = [
  'clients/typescript/package.slow',
  'end-to-end/load.slow',
  'cli/run-kills.slow',
  'mutants/mutants.slow',
  'deploy/rolling.slow',
  'clients/rust-sdk.slow',
  'examples/rust-scenes.slow',
  'clients/java-sdk.slow',
  'faults/sessions-under-kills.slow',
  'clients/leaks.slow',
  'contract/checklists.slow',
  'clients/conformance/mutants.slow',
  'deploy/fault-run.slow',
  'leases/store/properties',
  'leases/end-to-end/many.slow',
  'autocomplete/store/large.slow',
  'autocomplete/store/properties',
  'topology/cluster.slow',
  'redis/replica-confirmations',
  'cli/run/guarded-command',
  'cli/run',
  'redis/epochs',
  'faults/take-over',
  'cli/trouble',
  'faults/killed',
  'cli/export-import',
  'faults/redis',
];

for (const name of LONGEST) {
  if (!existsSync(join(__dirname, '..', `${name}.test.ts`)))
    throw new Error(`longest-first.cjs names no file: ${name}`);
}

class LongestFirst extends Sequencer {
  sort(tests) {
    const rank = ({ path }) => {
      const found = LONGEST.findIndex((name) => path.endsWith(`/${name}.test.ts`));
      return found === -1 ? LONGEST.length : found;
    };
    return [...super.sort(tests)].sort((a, b) => rank(a) - rank(b));
  }
}

module.exports = LongestFirst;
