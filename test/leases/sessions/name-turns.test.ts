import { NameTurns } from '../../../src/flow/waiting';

describe('the turns of commands on one name', () => {
  test('a command begins after the answer to the command before, and not earlier', () => {
    const turns = new NameTurns();
    const begun: number[] = [];
    const answers: (() => void)[] = [];
    for (const id of [1, 2, 3]) {
      turns.run('report', (answered) => {
        begun.push(id);
        answers.push(answered);
      });
    }
    expect(begun).toEqual([1]);
    answers[0]?.();
    answers[0]?.();
    expect(begun).toEqual([1, 2]);
    answers[1]?.();
    expect(begun).toEqual([1, 2, 3]);
  });

  test('a command on another name does not wait', () => {
    const turns = new NameTurns();
    const begun: string[] = [];
    turns.run('report', () => begun.push('report'));
    turns.run('other', () => begun.push('other'));
    expect(begun).toEqual(['report', 'other']);
  });

  test('100,000 commands that are answered together do not overflow the stack', () => {
    const turns = new NameTurns();
    let answerFirst = (): void => undefined;
    let begunCount = 0;
    turns.run('report', (answered) => (answerFirst = answered));
    for (let id = 0; id < 100_000; id += 1) {
      turns.run('report', (answered) => {
        begunCount += 1;
        answered();
      });
    }
    answerFirst();
    expect(begunCount).toBe(100_000);
    // The name is free again.
    turns.run('report', () => (begunCount += 1));
    expect(begunCount).toBe(100_001);
  });
});
