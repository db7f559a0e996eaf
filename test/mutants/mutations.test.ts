import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../support/root';
import { parseLua } from './lua-parser';
import { mutantsOf, type Mutant } from './mutations';
import { judge } from './report';

const changes = (text: string): string[] => mutantsOf('made-up.lua', text).map(({ change }) => change);
const texts = (text: string): string[] => mutantsOf('made-up.lua', text).map((mutant) => mutant.text.trim());

describe('the mutants of a script', () => {
  it('delete each statement, and an `if` with its whole body', () => {
    expect(texts('one()\ntwo()')).toEqual(['two()', 'one()']);
    expect(texts('if one then\n  two()\n  three()\nend')).toEqual([
      '',
      'if true then\n  two()\n  three()\nend',
      'if one then\n  \n  three()\nend',
      'if one then\n  two()\n  \nend',
    ]);
  });

  it('do not delete the only statement in an `if` as well, because the result would be the same', () => {
    expect(changes('if one then two() end')).toEqual(['delete `if one then two() end`', 'true for `one`']);
  });

  it('replace each condition of an `if` with several clauses by true and by false', () => {
    expect(texts('if one then a() elseif two then b() else c() end')).toEqual(
      expect.arrayContaining([
        'if false then a() elseif two then b() else c() end',
        'if one then a() elseif true then b() else c() end',
        'if one then a() elseif false then b() else c() end',
      ]),
    );
  });

  it('leave out operands, and respect the precedence of operators', () => {
    expect(texts('one = a == 1 or b and not c')).toEqual([
      '',
      'one = a == 1',
      'one = b and not c',
      'one = a == 1 or b',
      'one = a == 1 or not c',
    ]);
  });

  it('leave out a target of a multiple assignment, a named field and a value of math.max', () => {
    expect(texts('a.b, c = 1, d[2]')).toEqual(['c = d[2]', 'a.b = 1', '']);
    expect(texts('f({ a = 1, b = g(2) })')).toEqual(['', 'f({  b = g(2) })', 'f({ a = 1,  })']);
    expect(texts('f(math.max(a, b()))')).toEqual(['', 'f(a)', 'f(b())']);
  });

  it('change constants, and keep functions', () => {
    expect(texts('local LIMIT = 10')).toEqual(['local LIMIT = 20', 'local LIMIT = 5']);
    expect(changes('local function f(a, ...) return a end')).toEqual(['delete `return a`']);
  });

  it('have unique names without line numbers', () => {
    const [first, second] = mutantsOf('made-up.lua', '-- a comment\none()\none()');
    expect(first).toMatchObject({ line: 2, change: 'delete `one()`' });
    expect(second).toMatchObject({ line: 3, change: 'delete `one()` (2)' });
  });

  it('can be read as Lua, for every script of leases and epochs', () => {
    const folder = join(ROOT, 'src');
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
      (name) => name.endsWith('.lua') && !name.startsWith('autocomplete/scripts/recents'),
    );
    expect(files.length).toBeGreaterThan(20);
    for (const file of files) {
      const all = mutantsOf(file, readFileSync(join(folder, file), 'utf8'));
      expect(new Set(all.map(({ change }) => change)).size).toBe(all.length);
      for (const { text } of all) expect(() => parseLua(text)).not.toThrow();
    }
  });

  it('cannot be made of a text that is not Lua', () => {
    expect(() => parseLua('if one then')).toThrow('line 1: "end" expected');
    expect(() => parseLua('one ? two')).toThrow('cannot be read');
  });
});

describe('the report of a mutation run', () => {
  const all = mutantsOf('made-up.lua', 'one()\ntwo()');
  const run = (fates: readonly ('killed' | 'survived' | 'unreached')[], listed: readonly string[]) =>
    judge(
      fates.map((fate, index) => ({ mutant: all[index] as Mutant, fate, test: undefined, ms: 1 })),
      all,
      [{ reason: 'made up', mutants: { 'made-up.lua': listed } }],
    );

  it('is good if each mutant is killed or explained', () => {
    expect(run(['killed', 'survived'], ['delete `two()`'])).toMatchObject({ explained: 1, isGood: true });
  });

  it.each([
    ['survives without an explanation', run(['killed', 'survived'], []), 'unexplained'],
    ['is executed by no test', run(['killed', 'unreached'], []), 'unexplained'],
    ['is explained and killed', run(['killed', 'killed'], ['delete `two()`']), 'stale'],
  ] as const)('is bad if a mutant %s', (_, report, kind) => {
    expect(report.isGood).toBe(false);
    expect(report[kind]).toEqual([all[1]]);
  });

  it('is bad if an explanation names no mutant', () => {
    expect(run(['killed', 'killed'], ['delete `three()`'])).toMatchObject({
      unknown: ['made-up.lua: delete `three()`'],
      isGood: false,
    });
  });
});
