import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../../support/root';
import { MUTANT_NAMES, mutantOf } from './mutants';
import { applyPatch } from '../../../support/build-variant';
import { luaPatch } from './patch';

test.each(MUTANT_NAMES)('the built product contains the text that the mutant %s replaces', (name) => {
  const texts = new Map<string, string>();
  for (const patch of mutantOf(name).patches) {
    const before = texts.get(patch.file) ?? readFileSync(join(ROOT, 'dist', patch.file), 'utf8');
    const after = applyPatch(before, patch);
    expect(after).not.toBe(before);
    texts.set(patch.file, after);
  }
});

test('the error of a patch without its text names the file and the text', () => {
  const patch = { file: 'src/x.js', find: 'was here once', replace: 'is not' };
  expect(() => applyPatch('const x = 1;', patch)).toThrow('dist/src/x.js does not contain the text');
});

test('a Lua patch replaces constants and record fields by their embedded form, but not inside quotes', () => {
  const { find } = luaPatch("redis.call('HGET', STATE_KEY, BATCH, 'BATCH', request.state)", '');
  expect(find).toBe("redis.call('HGET', KEYS[1], 64, 'BATCH', r.s)");
});
