import { writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { runCommand } from '../../src/dev/run-command';
import { EMBEDDED, LIBRARY_LINES, type Patch, patched } from '../support/build-variant';
import { ROOT } from '../support/root';
import { scratchFolder } from '../support/scratch-folder';

const BATCH = 'src/redis/batch.ts';
const WRITER = 'src/redis/writer.ts';
const RUNNER = 'src/redis/runner.ts';
const LIBRARY = { file: EMBEDDED, lines: LIBRARY_LINES };
const TESTS = ['test/redis/batch.test.ts', 'test/leases/store/turns.test.ts'];
/** Enough for a machine with busy cores. */
const TIMEOUT_MS = 240_000;

const MUTANTS: readonly (readonly [mistake: string, patch: Patch])[] = [
  [
    'an operation overtakes another one of its resource',
    { file: BATCH, find: 'if (overtakes || differs)', replace: 'if (differs)' },
  ],
  [
    'operations with different epochs share a command',
    { file: BATCH, find: 'if (overtakes || differs)', replace: 'if (overtakes)' },
  ],
  [
    'what takes memory leaves before what keeps leases',
    { file: BATCH, find: "['keep', 'grow', 'read']", replace: "['grow', 'keep', 'read']" },
  ],
  [
    'operations of another server share a command',
    { file: BATCH, find: 'server === shared[0] && ', replace: '' },
  ],
  [
    'operations with another retention share a command',
    { file: BATCH, find: 'retentionMs === shared[1] && ', replace: '' },
  ],
  [
    'operations that may grant share a command with those that may not',
    { file: BATCH, find: 'notAfter > 0 === shared[3] > 0 && ', replace: '' },
  ],
  [
    'operations with little time share a command with others',
    { file: BATCH, find: ' && one.options.isLate === isLate', replace: '' },
  ],
  ['a command has no bound', { file: BATCH, find: '=== MOST_TOGETHER', replace: '=== Infinity' }],
  [
    'only one command leaves when it is full',
    {
      file: BATCH,
      find: 'this.flush();\n  }',
      replace: 'this.groups[entry].delete(bucket), this.send(group);\n  }',
    },
  ],
  ['each operation gets the first reply', { file: BATCH, find: 'replies?.[at]', replace: 'replies?.[0]' }],
  [
    'a command is late when all of it is late',
    { file: BATCH, find: 'Math.min(latest', replace: 'Math.max(latest' },
  ],
  [
    'operations without a guard make a command late',
    { file: BATCH, find: 'group.filter(({ hasGuard }) => hasGuard)', replace: '[...group]' },
  ],
  [
    'operations of several buckets of a Cluster share a command',
    { file: BATCH, find: "this.byBucket ? part.epochKey : ''", replace: "''" },
  ],
  ['each bucket has the epoch of the first', { file: BATCH, find: 'places.size + 1', replace: '1' }],
  [
    'a command leaves over another connection than its operations were asked for',
    { file: WRITER, find: 'this.client().stream !== stream', replace: 'false' },
  ],
  [
    'an operation that leaves alone overtakes those before it',
    { file: WRITER, find: 'flush.batch.flush();', replace: '' },
  ],
  [
    'an operation does not end at its deadline',
    { file: WRITER, find: 'this.deadlines.add(operation);', replace: '' },
  ],
  [
    'LATER is the answer of the operation',
    { file: RUNNER, find: '(reply as unknown) === LATER', replace: 'false' },
  ],
  ['operations have no budget', { ...LIBRARY, find: 'calls > 256 and i > 1', replace: 'false' }],
];

/** Runs the tests of batches with a changed file in place of its source. */
async function runTests(patches: readonly Patch[]): Promise<{ code: number | null; output: string }> {
  const folder = scratchFolder();
  const mapped: Record<string, string> = {};
  for (const [file, source] of patched(patches)) {
    const from = join(ROOT, dirname(file));
    const path = join(folder, basename(file));
    // The imports of the copy name the same files.
    writeFileSync(
      path,
      source.replace(/ from '(\.{1,2}\/[^']+)'/g, (_, name: string) => ` from '${join(from, name)}'`),
    );
    const name = basename(file, '.ts');
    mapped[file === EMBEDDED ? `/generated/redis/${name}$` : `^(?:\\./|[./a-z]*/redis/)${name}$`] = path;
  }
  const config = join(folder, 'jest.config.cjs');
  writeFileSync(
    config,
    `const config = require(${JSON.stringify(join(ROOT, 'test/jest.config.cjs'))});
    module.exports = { ...config, rootDir: ${JSON.stringify(ROOT)}, reporters: ['default'],
      moduleNameMapper: { ...${JSON.stringify(mapped)}, ...config.moduleNameMapper } };`,
  );
  const jest = join(ROOT, 'node_modules/jest/bin/jest.js');
  const { TEST_LONG_PROPERTIES: _, TEST_RUN_SUMMARY: __, ...env } = process.env;
  const { code, stdout, stderr } = await runCommand(
    process.execPath,
    [jest, '--config', config, '--runInBand', ...TESTS],
    { cwd: ROOT, env, timeoutMs: TIMEOUT_MS },
  );
  return { code, output: `${stdout}${stderr}` };
}

it(
  'the tests of batches pass with a copy of the sources',
  async () => {
    const none = (file: string): Patch => ({ file, find: 'export ', replace: 'export ' });
    const { code, output } = await runTests([...[BATCH, WRITER, RUNNER, EMBEDDED].map(none)]);
    expect({ code, output }).toEqual({
      code: 0,
      output: expect.stringMatching(/^Tests: +\d+ passed/m) as string,
    });
  },
  TIMEOUT_MS,
);

it.each(MUTANTS)(
  'the tests of batches notice that %s',
  async (_, patch) => {
    const { code, output } = await runTests([patch]);
    expect({ code, output }).toEqual({
      code: 1,
      output: expect.stringMatching(/^Tests: +\d+ failed/m) as string,
    });
  },
  TIMEOUT_MS,
);
