import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { casesOf } from '../../../clients/conformance/kit/case-folder';
import { prepareLanguage } from '../../../clients/conformance/kit/languages';
import { mutate } from '../../../clients/conformance/kit/mutant-build';
import { isBad, mutantSummary, runMutants } from '../../../clients/conformance/kit/mutant-run';
import { declaredMutants, readMutants, type Mutant } from '../../../clients/conformance/kit/mutants';
import { compile } from '../../support/build-variant';
import { ChildProgram } from '../../support/processes/child-program';
import { ROOT } from '../../support/root';

const CASES = casesOf('scripted');
const MUTANTS = declaredMutants(CASES);
const CLIENT = join(ROOT, 'clients', 'typescript');
/** Enough for a machine with busy cores. */
const TIMEOUT_MS = 900_000;

function source(file: string): string {
  return readFileSync(join(CLIENT, file), 'utf8');
}

function compiled(file: string, text = source(file)): string {
  return compile(`clients/typescript/${file}`, text);
}

function compilerOptions(): ts.CompilerOptions {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile) as {
    config: { compilerOptions: object };
  };
  return ts.convertCompilerOptionsFromJson(config.compilerOptions, ROOT).options;
}

describe('the mutants of the TypeScript client', () => {
  it('break each rule in two ways, except for the rule about forks', () => {
    const rules = new Set(CASES.map(({ id }) => id.split('/')[0] ?? ''));
    const few = [...rules].filter((rule) => MUTANTS.filter((mutant) => mutant.rule === rule).length < 2);
    expect(few).toEqual(['09-fork']);
  });

  it.each(MUTANTS.map((mutant) => [mutant.name, mutant] as const))(
    'compile after the change: %s',
    (_, mutant) => {
      const { file } = mutant;
      expect(compiled(file, mutate(source(file), mutant))).not.toBe(compiled(file));
    },
  );

  it(
    'each make a case of the conformance kit fail',
    async () => {
      const main = join(ROOT, 'dist', 'clients', 'conformance', 'run.js');
      // Half of the default on two cores: other test files run at the same time, and the cases have time limits.
      const args = [main, '--mutants', '--jobs', '6'];
      const run = new ChildProgram({ label: 'the run of the mutants', args });
      try {
        await run.start();
        const { code } = await run.ended(TIMEOUT_MS);
        const problems = run.output.filter((line) => /^(SURVIVED|BROKEN|FAILED)/.test(line));
        expect({ code, problems }).toEqual({ code: 0, problems: [] });
        expect(run.output.join('\n')).toMatch(/^mutants: [1-9]\d+ caught, 0 survived, 0 broken$/m);
      } finally {
        await run.close();
      }
    },
    TIMEOUT_MS,
  );

  it('have no type errors, because a crash at an unknown name would be no broken rule', () => {
    // Each changed source stands beside its source, so one program checks all mutants.
    const changed = new Map(
      MUTANTS.map((mutant, index) => [
        join(CLIENT, mutant.file.replace(/\.ts$/, `.mutant-${index}.ts`)),
        mutate(source(mutant.file), mutant),
      ]),
    );
    const options = { ...compilerOptions(), noEmit: true };
    const host = ts.createCompilerHost(options);
    const { readFile, fileExists } = host;
    host.readFile = (path) => changed.get(path) ?? readFile(path);
    host.fileExists = (path) => changed.has(path) || fileExists(path);
    host.getSourceFile = (path, languageVersion) =>
      ts.createSourceFile(path, host.readFile(path) ?? '', languageVersion);
    const program = ts.createProgram([...changed.keys()], options, host);
    const problems = [...changed.keys()].flatMap((path) =>
      program
        .getSemanticDiagnostics(program.getSourceFile(path))
        .map(({ messageText }) => `${path}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`),
    );
    expect(problems).toEqual([]);
    expect(program.getSourceFiles().length).toBeGreaterThan(changed.size);
  });
});

describe('the build of a mutant', () => {
  it('compiles an unchanged source as the build does', () => {
    const built = readFileSync(join(ROOT, 'dist/clients/typescript/sessions/lease.js'), 'utf8');
    expect(compiled('sessions/lease.ts').trim()).toBe(
      built.replace(/^\/\/# sourceMappingURL=.*$/m, '').trim(),
    );
  });

  it('refuses a text that the source does not contain exactly once', () => {
    const mutant = { name: 'm', rule: '01-deadline', file: 'x.ts', text: 'one', replacement: 'two' };
    expect(mutate('const one = 1;', mutant)).toBe('const two = 1;');
    expect(() => mutate('const three = 3;', mutant)).toThrow('x.ts does not contain: one');
    expect(() => mutate('one + one', mutant)).toThrow('x.ts contains 2 times: one');
  });

  it('refuses a source that cannot be parsed', () => {
    expect(() => compiled('x.ts', 'const = 1;')).toThrow(/x\.ts: .*Unexpected token/);
  });
});

describe('the run of the mutants', () => {
  const cases = CASES.filter(({ id }) => id === '10-unknown/typed-errors');
  const mutant = (text: string, replacement: string): Mutant => {
    return { name: 'm', rule: '10-unknown', file: 'errors.ts', text, replacement, cases };
  };

  it.each([
    ['caught', 'its case fails', mutant('NEVER_FITS: NeverFitsError,', ''), /error\.class is "other"/],
    ['SURVIVED', 'its case passes', mutant('IMPORT_CONFLICT: ImportConflictError,', ''), /passes$/],
    ['BROKEN', 'its text is not found', mutant('no such text', ''), /does not contain: no such text/],
    [
      'BROKEN',
      'its driver does not start',
      mutant('/** Who noticed that a lease is lost. */', 'throw new Error();'),
      /the driver ended/,
    ],
  ])('says %s of a mutant if %s', async (outcome, _, one, reason) => {
    const client = await prepareLanguage('typescript');
    if ('missing' in client) throw new Error(client.missing);
    const verdicts = await runMutants([one], client, 2, () => undefined);
    const verdict = verdicts.find(({ name }) => name === 'm');
    expect(verdict).toMatchObject({ outcome, reasons: [expect.stringMatching(reason)] });
    expect(verdicts.filter(({ name }) => name !== 'm')).toMatchObject([
      { name: '10-unknown/typed-errors', outcome: 'passed' },
    ]);
    expect(verdicts.some(isBad)).toBe(outcome !== 'caught');
  });

  it('says that a case fails without a mutant, and sums up', async () => {
    const client = { name: 'test', start: [process.execPath, '-e', ''], knownFailures: new Map() };
    const one = mutant('NEVER_FITS: NeverFitsError,', '');
    const verdicts = await runMutants([one], client, 1, () => undefined);
    expect(verdicts.map(({ outcome }) => outcome)).toEqual(['caught', 'FAILED']);
    expect(mutantSummary(verdicts)).toBe(
      'mutants: 1 caught, 0 survived, 0 broken\ntheir cases without a mutant: 0 passed, 1 failed\n' +
        'FAILED: 10-unknown/typed-errors',
    );
  });
});

describe('the loader of the mutants', () => {
  const fields = {
    ...{ name: 'm', rule: '01-deadline', file: 'deadline.ts', text: 'a', replacement: '' },
    cases: ['01-deadline/renewals-extend'],
  };

  it('reads a mutant with its cases', () => {
    const [mutant] = readMutants(JSON.stringify([fields]), CASES);
    expect(mutant).toMatchObject({ ...fields, cases: [{ id: '01-deadline/renewals-extend' }] });
  });

  it.each([
    ['an unknown field', { ...fields, texts: 'b' }, 'the mutant "m": there is no "texts"'],
    ['a text of two lines', { ...fields, text: 'a\nb' }, '"text" is a text of one line'],
    ['a mutant without a replacement', { ...fields, replacement: undefined }, '"replacement" is a text'],
    ['an unknown rule', { ...fields, rule: '01-dead' }, 'there is no rule 01-dead'],
    ['a mutant without cases', { ...fields, cases: [] }, '"cases" is a list of cases'],
    ['an unknown case', { ...fields, cases: ['01-deadline/x'] }, 'there is no case 01-deadline/x'],
  ])('refuses %s', (_, bad, problem) => {
    expect(() => readMutants(JSON.stringify([bad]), CASES)).toThrow(problem);
  });

  it('refuses two mutants with the same name', () => {
    expect(() => readMutants(JSON.stringify([fields, fields]), CASES)).toThrow(
      'two mutants have the name "m"',
    );
  });
});
