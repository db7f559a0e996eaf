import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { format } from 'node:util';
import { expect } from 'expect';

type Step = () => unknown;

interface Hooks {
  readonly before: Step[];
  readonly after: Step[];
  readonly afterEach: Step[];
}

/** How a test ended. `hung`: it had no end within its time, or an error ended none of its steps. */
export type Outcome = 'passed' | 'failed' | 'hung';

export interface ScriptTest {
  readonly title: string;
  readonly file: TestFile;
  readonly body: Step;
  /** The hooks `afterEach` that apply to the test. */
  readonly afterEach: readonly Step[];
  /** How long the test took without a mutant. */
  tookMs: number;
}

const CLOSE_MS = 20_000;

/** Ends the present test as `hung`. */
let onCrash = (): void => undefined;

/** A broken script can make its reply unreadable, or break a command that no test waits for any more. */
export function surviveCrashes(): void {
  process.on('unhandledRejection', () => undefined);
  process.on('uncaughtException', () => onCrash());
}

/**
 * A compiled test file in this process. Jest starts a new environment for each run of a file, which takes longer than
 * most of the tests. The processes of a file stay open from one mutant to the next.
 */
export class TestFile {
  readonly tests: ScriptTest[] = [];
  private readonly hooks: Hooks = { before: [], after: [], afterEach: [] };
  private isOpen = false;

  constructor(
    readonly name: string,
    path: string,
  ) {
    collect(this, this.hooks, path);
  }

  /** Runs a test. Opens the file before, if necessary, and closes the file if the test hangs. */
  async run(test: ScriptTest, timeoutMs: number): Promise<Outcome> {
    const steps = async (): Promise<Outcome> => {
      try {
        await this.open();
        try {
          await test.body();
        } finally {
          for (const step of test.afterEach) await step();
        }
        return 'passed';
      } catch {
        return 'failed';
      }
    };
    const stop = new AbortController();
    const timer = sleep(timeoutMs, 'hung' as const, { signal: stop.signal }).catch(() => 'hung' as const);
    const crash = new Promise<Outcome>((resolve) => {
      onCrash = () => resolve('hung');
    });
    const outcome = await Promise.race([steps(), timer, crash]);
    stop.abort();
    if (outcome === 'hung') await this.close();
    return outcome;
  }

  async close(): Promise<void> {
    if (!this.isOpen) return;
    this.isOpen = false;
    // A hook fails if the file was not opened to its end.
    const all = Promise.allSettled(this.hooks.after.map(async (step) => step()));
    await Promise.race([all, sleep(CLOSE_MS, undefined, { ref: false })]);
  }

  private async open(): Promise<void> {
    if (this.isOpen) return;
    this.isOpen = true;
    for (const step of this.hooks.before) await step();
  }
}

/** Loads a test file with the functions of Jest that the tests of scripts use. */
function collect(file: TestFile, hooks: Hooks, path: string): void {
  const titles: string[] = [];
  let afterEachHooks: Step[] = [];
  const describe = (title: string, body: Step): void => {
    const outer = afterEachHooks;
    titles.push(title);
    afterEachHooks = [...outer];
    body();
    afterEachHooks = outer;
    titles.pop();
  };
  const it = (title: string, body: Step): void => {
    const own = afterEachHooks;
    file.tests.push({ title: [...titles, title].join(' '), file, body, afterEach: own, tookMs: 0 });
  };
  const each =
    (one: (title: string, body: Step) => void) =>
    (rows: readonly unknown[]) =>
    (title: string, body: (...args: unknown[]) => unknown): void => {
      for (const row of rows) {
        const args = Array.isArray(row) ? (row as unknown[]) : [row];
        const shown = args.slice(0, title.match(/%[sdij]/g)?.length ?? 0);
        one(format(title, ...shown), () => body(...args));
      }
    };
  const globals = {
    describe: Object.assign(describe, { each: each(describe) }),
    it: Object.assign(it, { each: each(it) }),
    beforeAll: (step: Step) => void hooks.before.push(step),
    afterAll: (step: Step) => void hooks.after.push(step),
    afterEach: (step: Step) => void afterEachHooks.push(step),
    expect,
  };
  Object.assign(globalThis, globals);
  require(path);
}

/** Scripts that are mutated, and the tests that run them. */
export interface Suite {
  /** Matches the paths below src. */
  readonly scripts: RegExp;
  /** The folders of the tests, below test. */
  readonly folders: readonly string[];
}

/** The scripts of recent searches are not mutated. */
export const SUITES: readonly Suite[] = [
  { scripts: /^(?!autocomplete\/)/, folders: ['leases/scripts', 'redis/scripts'] },
  { scripts: /^autocomplete\/scripts\/(?!recents|shared\/recents)/, folders: ['autocomplete/scripts'] },
];

/** Compares the scripts with their library. A mutant of a script leaves the library as it is, so this test would notice each. */
const OF_LIBRARY = 'library-properties.test.js';

/** The quick tests of a suite. */
export function loadTestFiles({ folders }: Suite): readonly TestFile[] {
  return folders.flatMap((below) => {
    const folder = join(__dirname, '..', below);
    return readdirSync(folder)
      .filter((name) => /(?<!\.slow)\.test\.js$/.test(name) && name !== OF_LIBRARY)
      .sort()
      .map((name) => new TestFile(`${below}/${name.replace('.test.js', '')}`, join(folder, name)));
  });
}
