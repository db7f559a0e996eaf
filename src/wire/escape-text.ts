/**
 * C0 and C1 controls, DEL, the controls of the direction of text, the line and paragraph separators, and surrogates
 * without a partner. These characters can move the cursor of a terminal, end a line of a log, or show a text in another
 * order than it has.
 */
const UNSAFE = /[\p{Cc}\u061C\u200E\u200F\u2028\u2029\u202A-\u202E\u2066-\u2069\p{Cs}]/gu;

/** Makes a client's text safe for logs and terminals. An unsafe character becomes `\u{…}` with its code point. */
export function escapeText(text: string): string {
  return text.replace(UNSAFE, (character) => `\\u{${(character.codePointAt(0) as number).toString(16)}}`);
}
