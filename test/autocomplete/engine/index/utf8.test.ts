import fc from 'fast-check';
import {
  characterBefore,
  characterLength,
  codePointAt,
  isContinuation,
} from '../../../../src/autocomplete/index/build/characters';

const wellFormed = fc.string({ unit: 'binary', minLength: 1, maxLength: 20 });

test('reads the code points and lengths of any text', () => {
  fc.assert(
    fc.property(wellFormed, (text) => {
      const bytes = Buffer.from(text);
      let at = 0;
      for (const character of text) {
        expect(codePointAt(bytes, at)).toBe(character.codePointAt(0));
        expect(characterLength(bytes[at]!)).toBe(Buffer.byteLength(character));
        at += Buffer.byteLength(character);
        expect(characterBefore(bytes, at)).toBe(at - Buffer.byteLength(character));
      }
    }),
  );
});

test('tells the bytes within a character from its first byte', () => {
  const continuations = [...Buffer.from('aé漢😀')].map(isContinuation);
  expect(continuations).toEqual([false, false, true, false, true, true, false, true, true, true]);
});
