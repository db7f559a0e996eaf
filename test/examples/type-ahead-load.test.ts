import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { scratchFolder } from '../support/scratch-folder';
import { TypeAheadStage } from './type-ahead-stage';

let stage: TypeAheadStage;

beforeAll(async () => (stage = await TypeAheadStage.open()));
beforeEach(() => stage.reset());
afterAll(() => stage?.close());

test('type-ahead --load imports a file, and prints how many lines are left out', async () => {
  const file = join(scratchFolder(), 'words');
  const good = Array.from({ length: 1200 }, (_, index) => `word${index}`);
  const lines = [...good, '', 'a\tb', 'x'.repeat(513)].join('\r\n');
  writeFileSync(file, Buffer.concat([Buffer.from(lines), Buffer.from('\r\nna\xefve\r\n', 'latin1')]));
  const { lines: printed, code } = await stage.runProgram(['--load', file], '');
  expect(printed).toEqual([
    `words from ${file}; weights: 10 minus the number of letters`,
    '3 lines left out: too long, or not UTF-8 text',
    expect.stringMatching(new RegExp(`^"${stage.dictionary}" has 1,200 words now, in \\d+ MB; loaded in `)),
  ]);
  expect(code).toBe(0);
});
