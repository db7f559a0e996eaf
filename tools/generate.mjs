// Generates generated/ from proto/: the stubs of every language, and the descriptor for reflection.
//
//   npm run generate                   all languages
//   npm run generate -- go java        only these languages
//   npm run generate -- --install      first installs the pinned generators into a cache outside the repository
//   npm run generate -- --check        changes nothing; fails if generated/ differs from proto/. Skips a language if
//                                      its generators are not installed, and says so
//   npm run generate -- --baseline     at a release: writes proto/baseline.binpb, the reference of `buf breaking`

import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { languages } from './generators/languages.mjs';
import { buf, root } from './generators/run.mjs';
import { install } from './generators/tools.mjs';
import { differences, update } from './generators/tree.mjs';

const generated = join(root, 'generated');
const baseline = 'proto/baseline.binpb';

function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      install: { type: 'boolean', default: false },
      check: { type: 'boolean', default: false },
      baseline: { type: 'boolean', default: false },
    },
  });
  if (values.baseline) return refreshBaseline();

  const chosen = positionals.length > 0 ? positionals : Object.keys(languages);
  const unknown = chosen.filter((name) => !Object.hasOwn(languages, name));
  if (unknown.length > 0) {
    throw new Error(`unknown language ${unknown.join(', ')}; known are ${Object.keys(languages).join(', ')}`);
  }
  if (values.install) chosen.flatMap((name) => languages[name].tools()).forEach(installTool);

  const scratch = mkdtempSync(join(tmpdir(), 'holdfast-generate-'));
  try {
    const results = chosen.map((name) => (values.check ? check(name, scratch) : generate(name, scratch)));
    return results.every(Boolean);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function installTool(tool) {
  console.log(`${tool.label} in ${tool.dir}`);
  install(tool);
}

function generate(name, scratch) {
  const language = languages[name];
  const missing = language.missing();
  if (missing.length > 0) {
    console.error(`${name}: not generated; ${howToInstall(name, missing)}`);
    return false;
  }
  language.generate(scratch);
  const counts = language.outputs.map((output) => update(scratch, generated, output));
  const changed = counts.reduce((sum, count) => sum + count, 0);
  console.log(`${name}: ${changed === 0 ? 'up to date' : `${changed} files changed`}`);
  return true;
}

function check(name, scratch) {
  const language = languages[name];
  const missing = language.missing();
  if (missing.length > 0) {
    // The server needs the TypeScript stubs, and `npm ci` installs their generators.
    if (name === 'typescript') console.error(`${name}: ${howToInstall(name, missing)}`);
    else console.log(`${name}: not checked; ${missing.join(' and ')} is not installed`);
    return name !== 'typescript';
  }
  language.generate(scratch);
  const found = language.outputs.flatMap((output) => differences(scratch, generated, output));
  if (found.length > 0) {
    console.error(`${name}: differs from proto/; run \`npm run generate\`\n  ${found.join('\n  ')}`);
  }
  return found.length === 0;
}

function howToInstall(name, missing) {
  const command = name === 'typescript' ? 'npm ci' : `npm run generate -- --install ${name}`;
  return `${missing.join(' and ')} is required in exactly this version; \`${command}\` installs it`;
}

/** Refuses a contract that breaks the old baseline. Before an intended break, delete the old baseline. */
function refreshBaseline() {
  if (existsSync(join(root, baseline))) buf(['breaking', 'proto', '--against', baseline]);
  buf(['build', 'proto', '--path', 'proto/holdfast', '--exclude-source-info', '-o', baseline]);
  console.log(`${baseline}: written from proto/`);
  return true;
}

try {
  process.exitCode = main() ? 0 : 1;
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
