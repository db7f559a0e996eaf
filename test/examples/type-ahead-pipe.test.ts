import { TypeAheadStage } from './type-ahead-stage';

const EXIT = { success: 0, failed: 1, usage: 2 } as const;

let stage: TypeAheadStage;

beforeAll(async () => (stage = await TypeAheadStage.open()));
beforeEach(() => stage.reset());
afterAll(() => stage?.close());

describe('type-ahead in a pipe', () => {
  test('answers each line in order, and exits with code 0', async () => {
    const { lines, code } = await stage.runProgram([], 'HOUSING\n\nxyz\n');
    const heads = lines.filter((line) => line.startsWith('#'));
    expect(heads).toEqual([
      expect.stringMatching(/^# HOUSING: 1 in [\d.]+ m?s$/),
      expect.stringMatching(/^# : 9 in/),
      expect.stringMatching(/^# xyz: 0 in/),
    ]);
    expect(lines[1]).toBe('exact\t3\t-\t[housing]');
    expect(lines).toHaveLength(heads.length + 10);
    expect(code).toBe(EXIT.success);
  });

  test('prints the kind of each match', async () => {
    const { lines } = await stage.runProgram([], 'hous\n');
    expect(lines).toEqual([
      expect.stringMatching(/^# hous: 4 in [\d.]+ m?s$/),
      'prefix\t5\t-\t[hous]e',
      'prefix\t3\t-\t[hous]ing',
      'prefix\t1\t-\t[hous]ehold',
      'contains\t0\t-\tlight[hous]e',
    ]);
  });

  test('prints the reason for a refused line, and answers the next line', async () => {
    const { lines, code } = await stage.runProgram([], `${'x'.repeat(513)}\nheron\n`);
    expect(lines[0]).toMatch(/^# x+: refused: .*513 bytes of UTF-8; at most 512 are accepted/);
    expect(lines[2]).toBe('exact\t5\t-\t[heron]');
    expect(code).toBe(EXIT.failed);
  });

  test.each([
    [
      ['--server', '127.0.0.1:1'],
      /^no Holdfast server answers at 127\.0\.0\.1:1: start one with npm start$/,
      EXIT.failed,
    ],
    [
      ['--dictionary', 'none'],
      /^there is no dictionary "none" yet: create it with npm run type-ahead -- --load --dictionary "none"$/,
      EXIT.failed,
    ],
    [['file'], /^file: a FILE is accepted only after --load$/, EXIT.usage],
    [['--load', '/no/such/file'], /no such file or directory, open '\/no\/such\/file'$/, EXIT.failed],
  ])('prints the problem of the arguments %j, and ends', async (args, message, code) => {
    const { lines, code: exit } = await stage.runProgram(args, '');
    expect(lines.some((line) => message.test(line))).toBe(true);
    expect(exit).toBe(code);
  });
});
