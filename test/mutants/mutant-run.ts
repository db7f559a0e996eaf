import { basename } from 'node:path';
import type { Coverage } from './coverage';
import { statementKey } from './coverage';
import type { Mutant } from './mutations';
import type { Scripts, ScriptTexts } from './script-texts';
import type { Outcome, ScriptTest, TestFile } from './test-files';

/** `unreached`: no test executes the statement. */
export type Fate = 'killed' | 'survived' | 'unreached';

export interface Result {
  readonly mutant: Mutant;
  readonly fate: Fate;
  /** The test that failed. */
  readonly test: string | undefined;
  readonly ms: number;
}

/** A test of a mutant may take so much longer than without a mutant. */
const SLOWER = 10;
const LEAST_TIMEOUT_MS = 2500;
const MOST_TIMEOUT_MS = 15_000;
/** How much longer a test may take that failed before. */
const PATIENCE = 3;
const UNBROKEN_TIMEOUT_MS = 60_000;

/** Runs the tests of one mutant after the other, the most likely to fail first. */
export class MutantRun {
  coverage: Coverage = new Map();
  /** The tests that failed for mutants of a file, the latest last. */
  private readonly killers = new Map<string, ScriptTest[]>();

  constructor(
    private readonly texts: ScriptTexts,
    private readonly files: readonly TestFile[],
    private readonly mostTests: number,
  ) {}

  /** Runs each test once without a mutant. */
  async measureTests(): Promise<void> {
    for (const test of this.files.flatMap(({ tests }) => tests)) {
      // The first test of a file opens the file.
      for (const take of test === test.file.tests[0] ? [0, 1] : [1]) {
        const started = performance.now();
        if ((await test.file.run(test, UNBROKEN_TIMEOUT_MS)) !== 'passed')
          throw new Error(`without a mutant, this test does not pass: ${test.title}`);
        if (take === 1) test.tookMs = performance.now() - started;
      }
    }
  }

  async check(mutant: Mutant): Promise<Result> {
    const started = performance.now();
    // Servers adopt epochs by themselves, also in files that run no test of this mutant.
    const breaksEpochs = mutant.file.startsWith('epochs/');
    if (breaksEpochs) await this.close();
    const test = await this.killer(mutant);
    if (breaksEpochs) await this.close();
    const reached = this.covering(mutant).length > 0;
    const fate = test ? 'killed' : reached ? 'survived' : 'unreached';
    return { mutant, fate, test: test?.title, ms: performance.now() - started };
  }

  async close(): Promise<void> {
    for (const file of this.files) await file.close();
  }

  private covering({ file, statement }: Mutant): ScriptTest[] {
    if (statement === undefined) return this.files.flatMap(({ tests }) => tests);
    return [...(this.coverage.get(statementKey(file, statement)) ?? [])];
  }

  private async killer(mutant: Mutant): Promise<ScriptTest | undefined> {
    const killers = this.killers.get(mutant.file) ?? [];
    const isOfScript = ({ file }: ScriptTest): number =>
      Number(file.name.startsWith(basename(mutant.file, '.lua')));
    const tests = inTurn(this.covering(mutant)).sort(
      (a, b) => killers.indexOf(b) - killers.indexOf(a) || isOfScript(b) - isOfScript(a),
    );
    const broken = this.texts.embed(new Map([[mutant.file, mutant.text]]));
    for (const test of tests.slice(0, this.mostTests)) {
      const outcome = await this.runWith(broken, test);
      if (outcome === 'passed') continue;
      // A test that hangs is a slow proof, so the next mutant tries other tests first.
      if (outcome === 'failed')
        this.killers.set(mutant.file, [...killers.filter((one) => one !== test), test]);
      return test;
    }
    return undefined;
  }

  /**
   * A failure counts only if the test passes without the mutant in the same processes, and then fails again with plenty
   * of time. A broken script may have left wrong data behind, and a busy machine can let a test fail.
   */
  private async runWith(broken: Scripts, test: ScriptTest): Promise<Outcome> {
    const timeoutMs = Math.min(Math.max(LEAST_TIMEOUT_MS, SLOWER * test.tookMs), MOST_TIMEOUT_MS);
    const run = async (scripts: Scripts | undefined, patience: number): Promise<Outcome> => {
      this.texts.use(scripts);
      const outcome = await test.file.run(test, timeoutMs * patience);
      this.texts.use();
      return outcome;
    };
    for (;;) {
      if ((await run(broken, 1)) === 'passed') return 'passed';
      if ((await run(undefined, PATIENCE)) === 'passed') return run(broken, PATIENCE);
      await test.file.close();
    }
  }
}

/** One test of each file in turn, the quickest of a file first: different files test different things. */
function inTurn(tests: readonly ScriptTest[]): ScriptTest[] {
  const ranks = new Map<ScriptTest, number>();
  const counts = new Map<TestFile, number>();
  for (const test of [...tests].sort((a, b) => a.tookMs - b.tookMs)) {
    const rank = counts.get(test.file) ?? 0;
    ranks.set(test, rank);
    counts.set(test.file, rank + 1);
  }
  const rankOf = (test: ScriptTest): number => ranks.get(test) ?? 0;
  return [...tests].sort((a, b) => rankOf(a) - rankOf(b) || a.tookMs - b.tookMs);
}
