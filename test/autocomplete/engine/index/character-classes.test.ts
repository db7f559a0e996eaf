import { classOf, LETTER_OR_DIGIT, MARK, OTHER } from '../../../../src/autocomplete/index/build/characters';

test('classifies each code point of Unicode as a letter or digit, as a mark, or as neither', () => {
  const wrong: string[] = [];
  for (let codePoint = 0; codePoint < 0x110000; codePoint++) {
    const character = String.fromCodePoint(codePoint);
    const expected = /[\p{L}\p{N}]/u.test(character)
      ? LETTER_OR_DIGIT
      : /\p{M}/u.test(character)
        ? MARK
        : OTHER;
    if (classOf(codePoint) !== expected) wrong.push(codePoint.toString(16));
  }
  expect(wrong).toEqual([]);
});
