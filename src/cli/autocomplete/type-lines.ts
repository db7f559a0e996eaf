import type { Suggestion } from '../../../clients/typescript';
import { escapeText } from '../../base/escape-text';
import { textWidth } from '../table';

export interface TypeView {
  readonly text: string;
  readonly suggestions: readonly Suggestion[];
  /** The chosen suggestion. */
  readonly index: number;
  /** The reason why there are no suggestions. */
  readonly problem: string;
}

/** The typed text, and one line for each suggestion with the match in bold. No line wraps, and all lines fit. */
export function typeLines(view: TypeView, { columns, rows }: { columns: number; rows: number }): string[] {
  const { text, suggestions, index, problem } = view;
  const head = `> ${tail(escapeText(text), columns - 4)}`;
  if (problem !== '') return [head, clipped([{ text: `  ${escapeText(problem)}`, matched: false }], columns)];
  return [
    head,
    ...suggestions.slice(0, Math.max(1, rows - 2)).map(({ segments }, i) => {
      const parts = segments.map((part) => ({ text: escapeText(part.text), matched: part.matched }));
      return clipped([{ text: i === index ? '› ' : '  ', matched: false }, ...parts], columns);
    }),
  ];
}

function clipped(parts: readonly { text: string; matched: boolean }[], columns: number): string {
  let left = columns - 1;
  let line = '';
  for (const { text, matched } of parts) {
    let kept = '';
    for (const char of text) {
      left -= textWidth(char);
      if (left < 0) break;
      kept += char;
    }
    line += matched && kept !== '' ? `\u001b[1m${kept}\u001b[22m` : kept;
    if (left < 0) break;
  }
  return line;
}

/** The end of a text that is wider than the terminal. */
function tail(text: string, width: number): string {
  const chars = [...text];
  while (chars.length > 0 && textWidth(chars.join('')) > width) chars.shift();
  return chars.join('');
}
