/**
 * Records "What a failure looks like" of clients/LANGUAGE/README.md: the output of the worker of the examples while its
 * server is killed, while the worker is stopped, and while the network loses all bytes.
 *
 *     node dist/test/examples/record-failures.js typescript python go java rust
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeScratchFolder, RUN_FOLDER } from '../support/scratch-folder';
import { ROOT } from '../support/root';
import { GO, JAVA, PYTHON, RUST, TYPESCRIPT, type ExampleLanguage } from './example-languages';
import { failureLines } from './failure-scenes';
import { Stage } from './stage';

const LANGUAGES = new Map<string, ExampleLanguage>(
  Object.entries({ typescript: TYPESCRIPT, python: PYTHON, go: GO, java: JAVA, rust: RUST }),
);
const BLOCK = /(?<=\n## What a failure looks like\n[^#]*\n```text\n)[^`]*/;

async function record(name: string): Promise<void> {
  const found = await LANGUAGES.get(name)?.find();
  if (found === undefined) throw new Error(`no language ${name}: ${[...LANGUAGES.keys()].join(', ')}`);
  if ('missing' in found) throw new Error(`${name}: ${found.missing}`);
  const path = join(ROOT, 'clients', name, 'README.md');
  const page = readFileSync(path, 'utf8');
  if (!BLOCK.test(page)) throw new Error(`${path} has no block for the lines`);
  const stage = await Stage.open();
  try {
    const lines = await failureLines(stage, found('worker'));
    writeFileSync(
      path,
      page.replace(BLOCK, () => `${lines.join('\n')}\n`),
    );
    console.log([name, ...lines, ''].join('\n'));
  } finally {
    await stage.close();
  }
}

async function main(): Promise<void> {
  const names = process.argv.slice(2);
  if (names.length === 0) throw new Error('name the languages, for example: go python');
  const folder = makeScratchFolder('failures');
  process.env[RUN_FOLDER] = folder;
  try {
    for (const name of names) await record(name);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

main().catch((error: Error) => {
  console.error(`failed: ${error.message}`);
  process.exitCode = 1;
});
