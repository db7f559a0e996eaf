import { emitKeypressEvents } from 'node:readline';
import type { ReadStream } from 'node:tty';
import type { Holdfast, Suggestion } from '../../../clients/typescript';
import { escapeText } from '../../base/text';
import { textWidth } from '../table';
import { CliError, type Terminal } from '../terminal';

interface TypeView {
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

interface TypeFlags {
  limit: number;
  recents?: string;
}

interface Key {
  readonly name?: string;
  readonly ctrl?: boolean;
  readonly meta?: boolean;
  readonly sequence?: string;
}

/** The exit code of a program that Ctrl-C has ended. */
const INTERRUPTED = 130;

/** Reads keystrokes, and draws the suggestions on stderr. Resolves with undefined if nothing was chosen. */
export function typeOnTerminal(
  terminal: Terminal,
  hf: Holdfast,
  dictionary: string,
  { limit, recents }: TypeFlags,
): Promise<Suggestion | undefined> {
  const input = terminal.input as ReadStream;
  const typeAhead = hf.dictionary(dictionary).typeAhead({
    ...{ limit, signal: terminal.interrupted },
    ...(recents !== undefined && { recents }),
  });
  const field = new TypedField(terminal, (text) => typeAhead.type(text));
  let isEntered = false;
  return new Promise<Suggestion | undefined>((resolve, reject) => {
    const onKey = (_: string | undefined, key: Key) => {
      if (key.ctrl && key.name === 'c') reject(new CliError('ended by Ctrl-C', INTERRUPTED));
      else if (key.name === 'escape' || (key.ctrl && key.name === 'd')) resolve(undefined);
      else if (isEntered) return;
      else if (key.name === 'return' || key.name === 'enter') {
        // A further key would change the text whose suggestions are awaited.
        isEntered = true;
        void field.answer.then(() => resolve(field.chosen));
      } else field.press(key);
    };
    terminal.interrupted.addEventListener('abort', () => reject(terminal.interrupted.reason as Error), {
      once: true,
    });
    emitKeypressEvents(input);
    input.setRawMode(true);
    input.on('keypress', onKey);
    input.resume();
    field.start();
  }).finally(() => {
    field.end();
    typeAhead.close();
    input.removeAllListeners('keypress');
    input.setRawMode(false);
    input.pause();
    terminal.err.write('\r\u001b[J');
  });
}

/** The typed text with its suggestions. */
class TypedField {
  private text = '';
  private suggestions: readonly Suggestion[] = [];
  private index = 0;
  private problem = '';
  private isOver = false;
  /** Resolves when the suggestions are those of the typed text: Enter may come before them. */
  answer: Promise<void> = Promise.resolve();

  constructor(
    private readonly terminal: Terminal,
    private readonly ask: (text: string) => Promise<Suggestion[] | undefined>,
  ) {}

  get chosen(): Suggestion | undefined {
    return this.suggestions[this.index];
  }

  start(): void {
    this.change('');
  }

  press({ name, ctrl, meta, sequence = '' }: Key): void {
    if (name === 'up') this.move(-1);
    else if (name === 'down') this.move(1);
    else if (name === 'backspace') this.change(withoutLast(this.text));
    else if (ctrl && name === 'u') this.change('');
    else if (!ctrl && !meta && /^[^\p{Cc}]+$/u.test(sequence)) this.change(this.text + sequence);
  }

  /** Draws no more: the terminal is given back. */
  end(): void {
    this.isOver = true;
  }

  private move(step: number): void {
    this.index = Math.max(0, Math.min(this.suggestions.length - 1, this.index + step));
    this.draw();
  }

  private change(text: string): void {
    this.text = text;
    this.draw();
    this.answer = this.ask(text).then(
      (suggestions) => suggestions && this.answered(suggestions, ''),
      (error: Error) => this.answered([], error.message),
    );
  }

  private answered(suggestions: readonly Suggestion[], problem: string): void {
    this.suggestions = suggestions;
    this.index = 0;
    this.problem = problem;
    this.draw();
  }

  /** Draws below the line of the cursor, and leaves the cursor behind the typed text. */
  private draw(): void {
    if (this.isOver) return;
    const { columns, rows } = this.terminal.err as Partial<{ columns: number; rows: number }>;
    const [head = '', ...below] = typeLines(this.view, { columns: columns ?? 80, rows: rows ?? 24 });
    const up = below.length > 0 ? `\u001b[${below.length}A` : '';
    const drawn = below.map((line) => `\r\n${line}`).join('');
    this.terminal.err.write(`\r\u001b[J${head}${drawn}${up}\r${head}`);
  }

  /** What `typeLines` draws. */
  private get view(): TypeView {
    const { text, suggestions, index, problem } = this;
    return { text, suggestions, index, problem };
  }
}

/** Removes what a reader sees as one character. */
function withoutLast(text: string): string {
  const parts = [...new Intl.Segmenter().segment(text)];
  return text.slice(0, parts.at(-1)?.index ?? 0);
}
