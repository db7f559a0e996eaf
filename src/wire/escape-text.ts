/**
 * C0 and C1 controls, DEL, controls of the direction of text, all other invisible characters, the line and paragraph
 * separators, and surrogates without a partner. These characters can move the cursor of a terminal, end a line of a log,
 * show a text in another order than it has, or make two different texts look the same.
 */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Makes a client's text safe for logs and terminals. An unsafe character becomes `\u{…}` with its code point. */
export function escapeText(text: string): string {
  return text.replace(UNSAFE, (character) => `\\u{${(character.codePointAt(0) as number).toString(16)}}`);
}
