// `npm run check`: static checks of the tree. They need no network, and a dist/ built from this tree, which the npm
// script ensures.
//
// To add a check, add an entry to `steps`: a title, and a command that exits with an error when a check fails.
// The output of a command is shown when the command fails, and with `notes` also when it succeeds.

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * Slow steps come first, because two steps run at a time.
 * @type {{ title: string, command?: string, problems?: () => string[], notes?: boolean }[]}
 */
const steps = [
  { title: 'ESLint', command: 'eslint --config .ci/eslint.config.mjs --max-warnings 0 .' },
  { title: 'TypeScript', command: 'tsc --noEmit --project tsconfig.json' },
  { title: 'Generated stubs', command: 'node tools/generate.mjs --check', notes: true },
  { title: 'Prettier', command: 'prettier --check --log-level warn .' },
  { title: 'Embedded scripts', command: 'node tools/embed-scripts.mjs --check' },
  { title: 'Contract, lint', command: 'buf lint' },
  { title: 'Contract, format', command: 'buf format --diff --exit-code' },
  { title: 'Contract, breaking', command: 'buf breaking --against proto/baseline.binpb' },
  { title: 'Contract, baseline', command: 'node .ci/baseline.mjs' },
  { title: 'Configuration page', command: 'node dist/tools/configuration-docs.js --check' },
  { title: 'Metrics page', command: 'node dist/tools/metrics-docs.js --check' },
  { title: 'Goals', command: 'node dist/tools/goals-docs.js --check' },
  { title: 'Error page', command: 'node tools/error-docs.mjs --check' },
  { title: 'Versions', command: 'node tools/release-check.mjs' },
  { title: 'Documents, links', command: 'node .ci/documents/links.mjs' },
  { title: 'Documents, citations', command: 'node .ci/documents/citations.mjs' },
  { title: 'Documents, widths', command: 'node .ci/documents/widths.mjs' },
  { title: 'Documents, lists', command: 'node .ci/documents/lists.mjs' },
  { title: 'Documents, drawings', command: 'node .ci/documents/drawings.mjs' },
  { title: 'Commits of measurements', command: 'node .ci/bench-commits.mjs', notes: true },
  { title: 'Lock files', problems: () => ['.', 'bench'].flatMap(registryHosts) },
];

/** Problems where a lock file names a registry host. Without hosts each machine uses its configured registry. */
function registryHosts(folder) {
  const { packages } = JSON.parse(readFileSync(join(root, folder, 'package-lock.json'), 'utf8'));
  return Object.entries(packages)
    .filter(([, entry]) => entry.resolved !== undefined && !entry.link)
    .map(([path]) => `${folder}/${path} has "resolved"; install with this project's .npmrc`);
}

async function run(step) {
  const started = performance.now();
  const { failed, output } = step.command === undefined ? inspect(step) : await execute(step.command);
  return { step, failed, output, seconds: (performance.now() - started) / 1000 };
}

function inspect(step) {
  const found = step.problems();
  return { failed: found.length > 0, output: found.join('\n') };
}

function execute(command) {
  const [program, ...args] = command.split(' ');
  const path = [join(root, 'node_modules', '.bin'), process.env.PATH].join(delimiter);
  return new Promise((resolve) => {
    const child = spawn(program === 'node' ? process.execPath : program, args, {
      cwd: root,
      env: { ...process.env, PATH: path },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (chunk) => (output += chunk));
    child.stderr.setEncoding('utf8').on('data', (chunk) => (output += chunk));
    child.on('error', (error) => resolve({ failed: true, output: error.message }));
    child.on('close', (code) => resolve({ failed: code !== 0, output: output.trim() }));
  });
}

function report({ step, failed, output, seconds }) {
  console.log(`${failed ? 'FAIL' : 'ok  '}  ${step.title} (${seconds.toFixed(1)} s)`);
  if (output !== '' && (failed || step.notes)) console.log(output.replace(/^/gm, '      '));
}

async function worker(queue, results) {
  for (let step = queue.shift(); step !== undefined; step = queue.shift()) {
    const result = await run(step);
    report(result);
    results.push(result);
  }
}

const queue = [...steps];
const results = [];
await Promise.all([worker(queue, results), worker(queue, results)]);

const failures = results.filter((result) => result.failed).map((result) => result.step.title);
if (failures.length > 0) {
  console.error(`\n${failures.length} of ${steps.length} checks failed: ${failures.join('; ')}`);
  process.exitCode = 1;
}
