import { emitKeypressEvents, type Key } from 'node:readline';
import type { Readable } from 'node:stream';
import type { Suggestion } from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { spanText } from '../worker-typescript/words';
import type { AutocompleteServers, Calls } from './calls';
import { Queries, type Answer } from './queries';
import { draw, ENTER_SCREEN, eraseBelow, permanentLine, LEAVE_SCREEN, roomFor } from './screen';
import { refusalText } from './error-text';
import { TypedLine } from './typed-line';

/** The input of a terminal. */
export interface Keyboard extends Readable {
  setRawMode?(isRaw: boolean): unknown;
}
export interface Display {
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
  on(event: 'resize', listener: () => void): unknown;
  off(event: 'resize', listener: () => void): unknown;
}

export interface TypistSettings {
  readonly servers: AutocompleteServers;
  readonly calls: Calls;
  readonly dictionary: string;
  readonly recents: string;
  readonly keyboard: Keyboard;
  readonly display: Display;
  readonly isColored: boolean;
  /** Returns a message for the user. */
  readonly describeError: (error: unknown) => string;
  /** Ends the program, like Ctrl-C. */
  readonly stop: AbortSignal;
}

/** Sends a query after each key. Enter or Tab picks the chosen suggestion and starts the next word. */
export class Typist {
  /** Resolves at Ctrl-C, Ctrl-D, the end of the input or `stop`. Rejects if no query can be sent any more. */
  readonly done: Promise<void>;
  private readonly line = new TypedLine();
  private readonly queries: Queries;
  private suggestions: readonly Suggestion[] = [];
  private chosen = 0;
  private status = '';
  /** True: Enter was pressed before the answer. The first suggestion of the answer is then picked. */
  private isPicking = false;
  private isOver = false;
  private settle: { resolve(): void; reject(error: unknown): void } | undefined;

  constructor(private readonly settings: TypistSettings) {
    const { servers, keyboard, display, stop } = settings;
    this.done = new Promise((resolve, reject) => (this.settle = { resolve, reject }));
    this.queries = new Queries(servers, settings, {
      onAnswer: (answer) => this.onAnswer(answer),
      onBroken: (why) => this.say(`the stream broke (${why}); trying again`),
      onFailed: (error) => this.end(error),
    });
    emitKeypressEvents(keyboard);
    keyboard.setRawMode?.(true);
    keyboard.on('keypress', this.onKey);
    keyboard.on('end', this.onEnd);
    display.on('resize', this.redraw);
    stop.addEventListener('abort', this.onEnd, { once: true });
    display.write(ENTER_SCREEN);
    this.ask();
  }

  private readonly onEnd = (): void => this.end();

  private readonly onKey = (typed: string | undefined, key: Key): void => {
    if (key.ctrl === true) return this.onControl(key.name);
    switch (key.name) {
      case 'up':
        return this.choose(-1);
      case 'down':
        return this.choose(1);
      case 'return':
      case 'enter':
      case 'tab':
        return this.pick();
      case 'backspace':
        return this.edit(this.line.deleteLast());
      default:
        if (typed !== undefined && key.meta !== true) this.edit(this.line.type(typed));
    }
  };

  private onControl(name: string | undefined): void {
    if (name === 'c') this.end();
    else if (name === 'd' && this.line.text === '') this.end();
    else if (name === 'u') this.edit(this.line.clear());
    else if (name === 'h') this.edit(this.line.deleteLast());
  }

  private edit(changed: boolean): void {
    if (changed) this.ask();
  }

  private ask(): void {
    this.isPicking = false;
    this.queries.ask(this.line.text);
    this.redraw();
  }

  private choose(by: number): void {
    this.isPicking = false;
    const last = Math.min(this.suggestions.length, roomFor(this.rows)) - 1;
    this.chosen = Math.max(0, Math.min(last, this.chosen + by));
    this.redraw();
  }

  private onAnswer({ result, latencyMs }: Answer): void {
    this.chosen = 0;
    if (result.$case === 'error') {
      this.isPicking = false;
      this.suggestions = [];
      return this.say(refusalText(result.value, this.settings.dictionary));
    }
    const { suggestions } = result.value;
    this.suggestions = suggestions;
    const count = suggestions.length === 1 ? '1 suggestion' : `${suggestions.length} suggestions`;
    this.say(`${count} in ${spanText(latencyMs)}`);
    if (this.isPicking) this.pick();
  }

  /** Picks the chosen suggestion. Waits for the answer first if the suggestions belong to an older query. */
  private pick(): void {
    this.isPicking = this.queries.isWaiting;
    const picked = this.suggestions[this.chosen];
    if (this.isPicking || picked === undefined) return;
    this.settings.display.write(permanentLine(picked.text));
    this.line.clear();
    this.suggestions = [];
    this.ask();
    void this.remember(picked);
  }

  /** Raises the word's score for every user, and adds the word to the recents of this user. */
  private async remember({ text, entryId }: Suggestion): Promise<void> {
    const { calls, dictionary, recents } = this.settings;
    const counted = entryId === '' ? undefined : calls.recordSelection(dictionary, entryId);
    const results = await Promise.allSettled([counted, calls.addRecent(recents, text, entryId)]);
    if (this.isOver) return;
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) return this.say(`${text} was not recorded: ${this.settings.describeError(failed.reason)}`);
    // The visible suggestions are older than this pick. A new query replaces them if the user has not typed or moved.
    if (this.line.text === '' && this.chosen === 0) this.ask();
  }

  private get rows(): number {
    return this.settings.display.rows ?? 24;
  }

  private say(status: string): void {
    this.status = status;
    this.redraw();
  }

  private readonly redraw = (): void => {
    if (this.isOver) return;
    const { display, isColored } = this.settings;
    const { suggestions, chosen } = this;
    const status = this.queries.isWaiting ? `${this.status} …` : this.status;
    const picture = { typed: this.line.text, suggestions, chosen, status };
    display.write(draw(picture, { columns: display.columns ?? 80, rows: this.rows, isColored }));
  };

  private end(error?: unknown): void {
    if (this.isOver) return;
    this.isOver = true;
    const { keyboard, display, stop } = this.settings;
    this.queries.close();
    keyboard.off('keypress', this.onKey);
    keyboard.off('end', this.onEnd);
    display.off('resize', this.redraw);
    stop.removeEventListener('abort', this.onEnd);
    keyboard.setRawMode?.(false);
    keyboard.pause();
    display.write(`${eraseBelow()}${LEAVE_SCREEN}`);
    if (error === undefined) this.settle?.resolve();
    else this.settle?.reject(error);
  }
}
