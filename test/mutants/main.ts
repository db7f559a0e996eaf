/**
 * The program of `npm run test:mutants`. Breaks the Lua scripts at one place at a time, and runs the tests of
 * the folders scripts/ that execute the place. docs/testing.md describes the run and its list of survivors.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import setUp from '../support/global-setup';
import { ROOT } from '../support/root';
import { measureCoverage, watchRedis } from './coverage';
import { MutantRun, type Result } from './mutant-run';
import { mutantsOf, type Mutant } from './mutations';
import { judge, reportText } from './report';
import { ScriptTexts } from './script-texts';
import { loadTestFiles, SUITES, surviveCrashes, type Suite } from './test-files';

const USAGE = `usage: npm run test:mutants -- [options]

  --file TEXT   only files with this text in their path below src
  --line N      only this line
  --resume      leaves out the mutants that an earlier run has killed
  --most N      runs at most N tests for each mutant, the most likely to fail: a first look
  --every N     only each Nth mutant, beginning with one that the date chooses
  --verbose     prints each mutant with the test that fails`;

interface Options {
  readonly file: string;
  readonly line: number | undefined;
  readonly every: number;
  readonly most: number;
  readonly resume: boolean;
  readonly verbose: boolean;
}

function options(): Options {
  const [text, flag] = [{ type: 'string' }, { type: 'boolean' }] as const;
  const { values } = parseArgs({
    options: { file: text, line: text, every: text, most: text, resume: flag, verbose: flag },
  });
  return {
    file: values.file ?? '',
    line: values.line === undefined ? undefined : Number(values.line),
    every: Number(values.every ?? 1),
    most: Number(values.most ?? Infinity),
    resume: values.resume === true,
    verbose: values.verbose === true,
  };
}

/** The names of the mutants that runs have killed. */
const KILLED = join(ROOT, '.holdfast', 'mutants-killed');

function killedBefore(): string[] {
  return existsSync(KILLED) ? readFileSync(KILLED, 'utf8').split('\n') : [];
}

const nameOf = ({ file, change }: Mutant): string => `${file}: ${change}`;

interface SuiteRun {
  readonly texts: ScriptTexts;
  readonly suite: Suite;
  readonly paths: readonly string[];
  readonly mutants: readonly Mutant[];
  readonly options: Options;
}

async function runSuite({ texts, suite, paths, mutants, options }: SuiteRun): Promise<Result[]> {
  const files = loadTestFiles(suite);
  const tests = files.flatMap((one) => one.tests);
  console.log(`${mutants.length} mutants, ${tests.length} tests`);
  const run = new MutantRun(texts, files, options.most);
  await run.measureTests();
  run.coverage = await measureCoverage(texts, tests, paths);
  const results: Result[] = [];
  for (const mutant of mutants) {
    const result = await run.check(mutant);
    results.push(result);
    const { fate, test, ms } = result;
    if (fate === 'killed') appendFileSync(KILLED, `${nameOf(mutant)}\n`);
    if (options.verbose || fate !== 'killed')
      console.log(
        `${fate} ${mutant.file}:${mutant.line} ${mutant.change} (${Math.round(ms)} ms) ${test ?? ''}`,
      );
  }
  await run.close();
  return results;
}

async function main(): Promise<boolean> {
  const given = options();
  const { file, line, every, resume } = given;
  const texts = await ScriptTexts.open();
  const first = every > 1 ? Math.floor(Date.now() / 86_400_000) % every : 0;
  const before = new Set(resume ? killedBefore() : []);
  await setUp();
  surviveCrashes();
  watchRedis();
  mkdirSync(dirname(KILLED), { recursive: true });
  const started = performance.now();
  const all: Mutant[] = [];
  const results: Result[] = [];
  for (const suite of SUITES) {
    const sources = [...texts.sources].filter(([path]) => suite.scripts.test(path)).sort();
    const ofSuite = sources.flatMap(([path, text]) => mutantsOf(path, text));
    all.push(...ofSuite);
    const mutants = ofSuite.filter(
      (mutant, index) =>
        !before.has(nameOf(mutant)) &&
        mutant.file.includes(file) &&
        (line === undefined || mutant.line === line) &&
        index % every === first,
    );
    if (mutants.length === 0) continue;
    const paths = sources.map(([path]) => path);
    results.push(...(await runSuite({ texts, suite, paths, mutants, options: given })));
  }
  const report = judge(results, all);
  console.log(reportText(report, (performance.now() - started) / 1000));
  return report.isGood;
}

main().then(
  (isGood) => process.exit(isGood ? 0 : 1),
  (error: unknown) => {
    console.error(error, `\n\n${USAGE}`);
    process.exit(2);
  },
);
