import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { casesOf } from '../../../clients/conformance/kit/case-folder';
import { compilerOptions, mutate } from '../../../clients/conformance/kit/mutant-build';
import { declaredMutants } from '../../../clients/conformance/kit/mutants';
import { ChildProgram } from '../../support/processes/child-program';
import { ROOT } from '../../support/root';

/** Enough for a machine with busy cores. */
const TIMEOUT_MS = 900_000;
const CLIENT = join(ROOT, 'clients', 'typescript');

it(
  'a case of the conformance kit fails for each mutant of the TypeScript client',
  async () => {
    const main = join(ROOT, 'dist', 'clients', 'conformance', 'run.js');
    const run = new ChildProgram({ label: 'the run of the mutants', args: [main, '--mutants'] });
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

it('the mutants of the TypeScript client have no type errors, because a crash at an unknown name would be no broken rule', () => {
  // Each changed source stands beside its source, so one program checks all mutants.
  const changed = new Map(
    declaredMutants(casesOf('scripted')).map((mutant, index) => [
      join(CLIENT, mutant.file.replace(/\.ts$/, `.mutant-${index}.ts`)),
      mutate(readFileSync(join(CLIENT, mutant.file), 'utf8'), mutant),
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
