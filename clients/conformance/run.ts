/** Runs the conformance cases against the drivers of the clients. README.md describes both. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT } from '../../test/support/root';
import { attempt, type Attempt } from './kit/attempt';
import { casesOf } from './kit/case-folder';
import type { Case, CaseSet } from './kit/case-file';
import { prepareCertificates } from './kit/certificates';
import { declaredLanguages, prepareLanguage, type Language } from './kit/languages';
import { declaredMutants } from './kit/mutants';
import { failures, isFailure, notRun, summary, table, total } from './kit/report';
import { writeTable } from './kit/result-table';
import { defaultJobs, inOrder, runsOf } from './kit/schedule';

const HELP = `npm run test:clients -- [options]
  --language NAME   one language; may be repeated (default: all)
  --case TEXT       only cases with this text in their path; may be repeated
  --set SET         scripted, faults or all (default)
  --jobs N          cases or mutants at once (default: 6 for each core, at most 24)
  --times N         runs of each case (default: 1)
  --transcript      also prints what was said in cases that pass
  --list            prints the cases
  --write-table     writes the counts of a whole run into docs/testing.md
  --mutants         runs the mutants of the TypeScript client: a case must catch each mutant
  --mutant TEXT     only mutants with this text in their name or rule; may be repeated
`;
/** Enough of a transcript for most failures. --transcript prints all. */
const SHOWN_LINES = 120;

interface Options {
  readonly languages: readonly string[];
  readonly cases: readonly Case[];
  readonly jobs: number;
  readonly times: number;
  readonly transcript: boolean;
  readonly list: boolean;
  readonly writeTable: boolean;
  /** Texts of names. Undefined: no mutants. */
  readonly mutants: readonly string[] | undefined;
}

function options(): Options | undefined {
  const { values } = parseArgs({
    options: {
      language: { type: 'string', multiple: true },
      case: { type: 'string', multiple: true },
      set: { type: 'string', default: 'all' },
      jobs: { type: 'string' },
      times: { type: 'string', default: '1' },
      transcript: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      'write-table': { type: 'boolean', default: false },
      mutants: { type: 'boolean', default: false },
      mutant: { type: 'string', multiple: true },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  const sets: CaseSet[] = values.set === 'all' ? ['scripted', 'faults'] : [values.set as CaseSet];
  const wanted = values.case ?? [''];
  const isWhole = values.case === undefined && values.language === undefined && values.set === 'all';
  if (values['write-table'] && !isWhole)
    throw new Error('--write-table needs a run of all cases in all languages');
  return {
    languages: values.language ?? declaredLanguages(),
    cases: sets.flatMap(casesOf).filter(({ id }) => wanted.some((text) => id.includes(text))),
    jobs: Number(values.jobs ?? defaultJobs()),
    times: Number(values.times),
    transcript: values.transcript,
    list: values.list,
    writeTable: values['write-table'],
    mutants: values.mutant ?? (values.mutants ? [''] : undefined),
  };
}

/** The languages that can run here. Names the others. */
async function languagesOf(names: readonly string[]): Promise<Language[]> {
  const found: Language[] = [];
  for (const name of names) {
    const language = await prepareLanguage(name);
    if ('missing' in language) console.log(`${name}: left out, because ${language.missing}`);
    else found.push(language);
  }
  return found;
}

async function runAll({ cases, jobs, times }: Options, languages: readonly Language[]): Promise<Attempt[]> {
  const waiting = runsOf(cases, languages, times);
  const width = Math.max(...languages.map(({ name }) => name.length));
  prepareCertificates(cases);
  const attempts: Attempt[] = [];
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const result = await attempt(next.one, next.language);
      attempts.push(result);
      console.log(`${result.language.padEnd(width)}  ${result.id}  ${result.outcome}  ${result.ms} ms`);
    }
  };
  await Promise.all(Array.from({ length: jobs }, worker));
  return inOrder(attempts, languages);
}

async function runMutantsNamed(texts: readonly string[], jobs: number): Promise<number> {
  // Only this run needs the compiler.
  const { isBad, mutantLines, mutantSummary, runMutants } = await import('./kit/mutant-run.js');
  const mutants = declaredMutants(casesOf('scripted')).filter(({ name, rule }) =>
    texts.some((text) => name.includes(text) || rule.includes(text)),
  );
  if (mutants.length === 0) throw new Error('no mutant has this name');
  const client = await prepareLanguage('typescript');
  if ('missing' in client) throw new Error(client.missing);
  const verdicts = await runMutants(mutants, client, jobs, (one) => console.log(mutantLines(one)));
  console.log(`\n${mutantSummary(verdicts)}`);
  return verdicts.some(isBad) ? 1 : 0;
}

/** A run without one of the languages would take its column out of the document. */
function writeWhole(attempts: readonly Attempt[]): void {
  const missing = declaredLanguages().filter((name) => !attempts.some(({ language }) => language === name));
  if (missing.length > 0) throw new Error(`the table is not written without ${missing.join(', ')}`);
  const missed = notRun(attempts);
  if (missed !== '') throw new Error(`the table is not written without all cases: ${missed}`);
  writeTable(join(ROOT, 'docs', 'testing.md'), attempts);
}

async function main(): Promise<number> {
  const chosen = options();
  if (!chosen) {
    console.log(HELP);
    return 0;
  }
  if (chosen.mutants) return runMutantsNamed(chosen.mutants, chosen.jobs);
  if (chosen.list) {
    for (const { id, title } of chosen.cases) console.log(`${id}: ${title}`);
    return 0;
  }
  if (chosen.cases.length === 0) {
    console.error('no case has this name');
    return 1;
  }
  const attempts = await runAll(chosen, await languagesOf(chosen.languages));
  if (chosen.transcript)
    for (const { id, transcript } of attempts) console.log(`\n${id}\n${transcript.join('\n')}`);
  console.log(`\n${table(attempts)}\n`);
  const failed = failures(attempts, chosen.transcript ? 0 : SHOWN_LINES);
  if (failed !== '') console.log(`${failed}\n`);
  const missed = notRun(attempts);
  if (missed !== '') console.log(`${missed}\n`);
  console.log(summary(attempts));
  if (chosen.writeTable) writeWhole(attempts);
  // .ci/run adds the results of all suites, and shows their failures at its end.
  const { TEST_RUN_SUMMARY: file } = process.env;
  if (file) writeFileSync(file, [total(attempts), ...(failed === '' ? [] : [failed]), ''].join('\n'));
  return attempts.some(isFailure) ? 1 : 0;
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    console.error((error as Error).message);
    process.exit(1);
  },
);
