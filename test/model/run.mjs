// The program of `npm run test:model [NAME...]`. It checks each design of the models completely, and fails unless
// each design (designs/) has its expected result: the product's design passes, and each simpler design violates
// the named invariant. Counterexamples are written to traces/, which git ignores.

import { spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checker } from './checker.mjs';
import { steps } from './trace.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const HEAP = '2g';
/** The time limit of one configuration, with room for a busy machine. */
const TIMEOUT_MS = 20 * 60_000;

/** The modules and their designs. */
const MODULES = ['ClockRates', 'ClockSteps', 'Leases', 'Leaving', 'Sessions', 'Speakers'];

/** The configurations of all designs, as TLC reads them, in the order of their names. */
async function configurations() {
  const all = [];
  for (const module of MODULES) {
    const { base, lines, designs } = await import(`./designs/${module}.mjs`);
    for (const [name, design] of Object.entries(designs)) {
      const { about, keeps, violates, with: differences = {} } = design;
      if ((keeps === undefined) === (violates === undefined))
        throw new Error(`${name} must either keep invariants or violate one`);
      const unknown = Object.keys(differences).find((constant) => !(constant in base));
      if (unknown !== undefined) throw new Error(`${name}: ${module} has no constant ${unknown}`);
      const constants = { ...base, ...differences };
      const text = [
        'CONSTANTS',
        // A client is a model value, which stands for itself.
        ...(constants.Clients?.match(/\w+/g) ?? []).map((client) => `  ${client} = ${client}`),
        ...(module === 'Leases' ? ['  Nobody = Nobody'] : []),
        ...Object.entries(constants).map(([constant, value]) => `  ${constant} = ${value}`),
        ...lines,
        ...(keeps ?? [violates]).map((invariant) => `INVARIANT ${invariant}`),
        '',
      ].join('\n');
      all.push({ name, module, about, text, expected: keeps ? 'passes' : `violates ${violates}` });
    }
  }
  return all.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Runs TLC in its own folder, on one core, with a bounded heap. Resolves to its output. */
async function check(jar, { text, module }) {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-model-'));
  try {
    await cp(join(here, `${module}.tla`), join(folder, `${module}.tla`));
    await writeFile(join(folder, `${module}.cfg`), text);
    const java = [`-Xmx${HEAP}`, '-XX:+UseSerialGC', `-Djava.io.tmpdir=${folder}`, '-cp', jar, 'tlc2.TLC'];
    const tlc = [
      '-workers',
      '1',
      '-fp',
      '0',
      '-deadlock',
      '-nowarning',
      '-metadir',
      join(folder, 'states'),
      module,
    ];
    return await output('java', [...java, ...tlc], folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function output(program, args, cwd) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'], timeout: TIMEOUT_MS });
    let tlcOutput = '';
    child.stdout.setEncoding('utf8').on('data', (chunk) => (tlcOutput += chunk));
    child.stderr.setEncoding('utf8').on('data', (chunk) => (tlcOutput += chunk));
    child.on('error', reject);
    child.on('close', () => resolve(tlcOutput));
  });
}

/** The result in TLC's output. Only a complete search passes. */
function verdict(tlcOutput) {
  const violated = tlcOutput.match(/Invariant (\w+) is violated/);
  if (violated) return `violates ${violated[1]}`;
  if (tlcOutput.includes('No error has been found') && /distinct states found, 0 states left/.test(tlcOutput))
    return 'passes';
  return 'did not complete';
}

async function writeTrace({ name, about, expected }, tlcOutput) {
  const lines = [`${name}: ${expected}`, about, ''];
  for (const [i, { action, changes }] of steps(tlcOutput).entries()) {
    lines.push(`${i + 1}. ${action}`, ...changes.map((change) => `     ${change}`));
  }
  await mkdir(join(here, 'traces'), { recursive: true });
  await writeFile(join(here, 'traces', `${name}.txt`), `${lines.join('\n')}\n`);
}

async function runConfiguration(jar, configuration) {
  const started = performance.now();
  const tlcOutput = await check(jar, configuration);
  const seconds = ((performance.now() - started) / 1000).toFixed(0);
  const result = verdict(tlcOutput);
  const [, states = '?'] = tlcOutput.match(/(\d+) distinct states found, \d+ states left/) ?? [];
  const [, depth = '?'] = tlcOutput.match(/depth of the complete state graph search is (\d+)/) ?? [];
  const isRight = result === configuration.expected;
  if (isRight && result !== 'passes') await writeTrace(configuration, tlcOutput);
  const expected = isRight ? '' : `, expected: ${configuration.expected}`;
  console.log(`${isRight ? 'ok  ' : 'FAIL'} ${configuration.name}: ${result}${expected}`);
  console.log(`     ${states} states, depth ${depth}, ${seconds} s`);
  if (!isRight) console.log(tlcOutput.slice(-3000));
  return isRight;
}

async function main(asked) {
  const all = await configurations();
  const unknown = asked.find((name) => !all.some((configuration) => configuration.name === name));
  if (unknown !== undefined) throw new Error(`no design is called ${unknown}`);
  const chosen = asked.length > 0 ? all.filter(({ name }) => asked.includes(name)) : all;
  const jar = await checker();
  let wrong = 0;
  for (const configuration of chosen) if (!(await runConfiguration(jar, configuration))) wrong += 1;
  console.log(`${chosen.length - wrong} of ${chosen.length} configurations had the expected result`);
  if (wrong > 0) process.exitCode = 1;
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
