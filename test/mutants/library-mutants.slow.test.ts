import fc from 'fast-check';
import { applyPatch } from '../support/build-variant';
import { embeddedAfter } from '../support/embedded-scripts';
import { history } from '../support/leases/library-operations';
import { LibraryRuns, type Outcome } from '../support/leases/library-runs';
import { smallBounds } from '../support/leases/small-bounds';
import { mutantsOf, type Mutant } from './mutations';
import type { Result } from './mutant-run';
import { judge, reportText } from './report';
import { LIBRARY_EXPLANATIONS } from './survivors';

const FILE = 'leases/scripts/lease-library.lua';
const SEED = 20_261_129;
/** About 130 operations each. A mutant that something can notice is noticed in the first third. */
const HISTORIES_OF_A_MUTANT = 300;
const TIMEOUT_MS = 900_000;

/** A function of the embedded library. */
function functionOf(library: string, name: string): string {
  const text = new RegExp(`^local function ${name}\\([^]*?\\nend\\n(?=local |--|redis\\.)`, 'm').exec(
    library,
  )?.[0];
  if (text === undefined) throw new Error(`the library has no function ${name}`);
  return text;
}

/**
 * The mutants of `reset`: without each of its lines, and without each variable of a line with several; and with a line that only
 * the first operation of the library runs, because a missing first value is noticed at once.
 */
function mutantsOfReset(library: string): Mutant[] {
  const reset = functionOf(library, 'reset');
  const kept = [...reset.matchAll(/^(\w+)[\w, ]* = (?!nil).*$/gm)].map(([line, name]) => ({
    change: `\`${line}\` only once`,
    text: reset.replace(line, () => `if ${name} == nil then ${line} end`),
  }));
  // Without the look whether a table is empty, more tables are made.
  const removed = mutantsOf(FILE, reset).filter(({ change }) => !change.startsWith('true for `next('));
  return [...removed, ...kept].map(({ change, text }) =>
    mutant(
      change,
      library.replace(reset, () => text),
    ),
  );
}

const mutant = (change: string, text: string): Mutant => ({
  file: FILE,
  line: 0,
  change,
  text,
  statement: undefined,
});

const edits: readonly (readonly [change: string, find: string, replace: string])[] = [
  ['each operation has the arguments of the first', 'at = last + 1', 'at = 6'],
  ['each operation has the epoch of the first bucket', 'keys[i], epochs[place]', 'keys[i], epochs[1]'],
  [
    'a failed operation ends the command',
    'pcall(operation.run, unpack(args, at + 2, last))',
    'true, operation.run(unpack(args, at + 2, last))',
  ],
  ['an operation gets the arguments of later ones', 'unpack(args, at + 2, last)', 'unpack(args, at + 2)'],
  ['an operation lacks its last argument', 'unpack(args, at + 2, last)', 'unpack(args, at + 2, last - 1)'],
  ['no variable is reset', '\nreset()\n', '\n'],
  ['variables are reset once', '\nreset()\n', '\nif i == 1 then reset() end\n'],
  [
    'the operations are carried out in reverse order',
    'for i = 1, count do\nlocal operation',
    `local starts = {}
for i = 1, count do starts[i], at = at, at + 2 + operations[args[at]].argument_count end
for i = count, 1, -1 do
at = starts[i]
local operation`,
  ],
];

/** Mutants of the function that carries out the operations of a command. */
function mutantsOfRun(library: string): Mutant[] {
  const run = functionOf(library, 'run');
  return edits.map(([change, find, replace]) => {
    const text = applyPatch(run, { file: FILE, find, replace });
    return mutant(
      change,
      library.replace(run, () => text),
    );
  });
}

/** The next operation may put its news into a table that stayed empty. */
function mutantOfNews(library: string): Mutant {
  const patch = { file: FILE, find: '{ unpack(news) }', replace: 'news' };
  return mutant('a reply has the table of the news itself', applyPatch(library, patch));
}

/** Runs the same histories for each mutant of a library. */
class Differences {
  private readonly histories = fc.sample(history, { seed: SEED, numRuns: HISTORIES_OF_A_MUTANT });
  private readonly expected: string[] = [];

  private constructor(private readonly runs: LibraryRuns) {}

  static async open(embedded: ReadonlyMap<string, string>): Promise<Differences> {
    return new Differences(await LibraryRuns.open(embedded));
  }

  get library(): string {
    return this.runs.texts.library;
  }

  close(): Promise<void> {
    return this.runs.close();
  }

  /** The first history for which the library does something else than the scripts. Undefined: there is none. */
  async find(library: string): Promise<number | undefined> {
    await this.runs.use(library);
    for (const [index, drawn] of this.histories.entries()) {
      this.expected[index] ??= shown(await this.runs.byScripts(drawn));
      if (shown(await this.runs.byFunctions(drawn)) !== this.expected[index]) return index;
    }
    return undefined;
  }
}

const shown = (outcome: Outcome): string => JSON.stringify(outcome);

describe('the comparison of the library of leases with its scripts', () => {
  let differences: Differences;
  beforeAll(async () => {
    differences = await Differences.open(embeddedAfter(smallBounds));
  });
  afterAll(() => differences?.close());

  it(
    'notices each mutant of the library that survivors.ts does not explain, and nothing without a mutant',
    async () => {
      const { library } = differences;
      expect(await differences.find(library)).toBeUndefined();
      const mutants = [...mutantsOfReset(library), ...mutantsOfRun(library), mutantOfNews(library)];
      const results: Result[] = [];
      for (const one of mutants) {
        const started = performance.now();
        const fate = (await differences.find(one.text)) === undefined ? 'survived' : 'killed';
        results.push({ mutant: one, fate, test: undefined, ms: performance.now() - started });
      }
      const report = judge(results, mutants, LIBRARY_EXPLANATIONS);
      expect(reportText(report, 0)).toMatch(/^\d+ killed, \d+ explained survivors, 0 others/);
    },
    TIMEOUT_MS,
  );
});
