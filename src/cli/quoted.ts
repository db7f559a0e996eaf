import { escapeText } from '../base/escape-text';

/** A name or a text of others in a message. */
export function quoted(text: string): string {
  return `"${escapeText(text)}"`;
}
