/**
 * C0 and C1 controls, DEL, controls of the direction of text, all other invisible characters, the line and paragraph
 * separators, and surrogates without a partner. These characters can move the cursor of a terminal, end a line of a log,
 * show a text in another order than it has, or make two different texts look the same.
 */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** JSON text with the same value, in which no character can deceive a reader. Line breaks between the values stay. */
export function escapeJson(json: string): string {
  // JSON.stringify escapes C0 controls in texts. Those that are left are layout.
  return json.replace(UNSAFE, (character) => (character < ' ' ? character : jsonEscapes(character)));
}

/** A code point beyond U+FFFF has two escapes. */
function jsonEscapes(character: string): string {
  let escapes = '';
  for (let i = 0; i < character.length; i += 1) {
    escapes += `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`;
  }
  return escapes;
}

/** Makes a client's text safe for logs and terminals. An unsafe character becomes `\u{…}` with its code point. */
export function escapeText(text: string): string {
  return text.replace(UNSAFE, (character) => `\\u{${(character.codePointAt(0) as number).toString(16)}}`);
}
