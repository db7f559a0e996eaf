// `npm run test:model [NAME...]`: checks the models of the lease protocol, every configuration to its end, and fails
// unless each one gives what its first lines say: the right design passes, each simpler one violates the invariant it
// names. The counterexamples are written to traces/.

import { spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checker } from './checker.mjs';
import { steps } from './trace.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const HEAP = '2g';
/** Of one configuration, on a machine that is busy. */
const LONGEST_MS = 20 * 60_000;

/** A configuration's first lines: the module, what is expected of it, and what it is, in words. */
async function read(name) {
  const text = await readFile(join(here, 'configurations', `${name}.cfg`), 'utf8');
  const [, module, expected] = text.match(/^\\\* Module: (\w+)\n\\\* Expect: (passes|violates \w+)\n/) ?? [];
  if (!module)
    throw new Error(
      `${name}.cfg does not say in its first two lines which module it is of and what it gives`,
    );
  const words = text.split('\n').slice(2);
  const about = words.slice(0, words.indexOf('CONSTANTS')).map((line) => line.slice(3));
  const invariants = [...text.matchAll(/^INVARIANT (\w+)/gm)].map(([, invariant]) => invariant);
  if (expected !== 'passes' && expected !== `violates ${invariants.join()}`) {
    throw new Error(`${name}.cfg has to check the one invariant that it is to violate`);
  }
  return { name, text, module, expected, about };
}

/** Runs TLC in a folder of its own, on one core, with a heap that is bounded. Resolves with what it said. */
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
    const child = spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'], timeout: LONGEST_MS });
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (chunk) => (said += chunk));
    child.stderr.setEncoding('utf8').on('data', (chunk) => (said += chunk));
    child.on('error', reject);
    child.on('close', () => resolve(said));
  });
}

/** "passes", "violates X", or what else TLC had to say. Only a search that came to its end has passed. */
function verdict(said) {
  const violated = said.match(/Invariant (\w+) is violated/);
  if (violated) return `violates ${violated[1]}`;
  if (said.includes('No error has been found') && /distinct states found, 0 states left/.test(said))
    return 'passes';
  return 'did not come to an end';
}

async function keepTrace({ name, about, expected }, said) {
  const lines = [`${name}: ${expected}`, ...about, ''];
  for (const [i, { action, changes }] of steps(said).entries()) {
    lines.push(`${i + 1}. ${action}`, ...changes.map((change) => `     ${change}`));
  }
  await mkdir(join(here, 'traces'), { recursive: true });
  await writeFile(join(here, 'traces', `${name}.txt`), `${lines.join('\n')}\n`);
}

async function carryOut(jar, configuration) {
  const started = performance.now();
  const said = await check(jar, configuration);
  const seconds = ((performance.now() - started) / 1000).toFixed(0);
  const given = verdict(said);
  const [, states = '?'] = said.match(/(\d+) distinct states found, \d+ states left/) ?? [];
  const [, depth = '?'] = said.match(/depth of the complete state graph search is (\d+)/) ?? [];
  const isRight = given === configuration.expected;
  if (isRight && given !== 'passes') await keepTrace(configuration, said);
  const wanted = isRight ? '' : `, but is to be: ${configuration.expected}`;
  console.log(`${isRight ? 'ok  ' : 'FAIL'} ${configuration.name}: ${given}${wanted}`);
  console.log(`     ${states} states, depth ${depth}, ${seconds} s`);
  if (!isRight) console.log(said.slice(-3000));
  return isRight;
}

const all = (await readdir(join(here, 'configurations'))).filter((file) => file.endsWith('.cfg')).sort();
const asked = process.argv.slice(2);
const names = asked.length > 0 ? asked : all.map((file) => file.slice(0, -'.cfg'.length));
try {
  const configurations = await Promise.all(names.map(read));
  const jar = await checker();
  let wrong = 0;
  for (const configuration of configurations) if (!(await carryOut(jar, configuration))) wrong += 1;
  console.log(
    `${configurations.length - wrong} of ${configurations.length} configurations gave what they say`,
  );
  if (wrong > 0) process.exitCode = 1;
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
