import { PassThrough } from 'node:stream';
import { autocompleteServers, Calls } from '../../examples/type-ahead/calls';
import { troubleText } from '../../examples/type-ahead/trouble';
import { Typist } from '../../examples/type-ahead/typist';
import { eventually } from '../support/eventually';

/** A person at a terminal: what is typed, and what is seen. */
export class TypistAtWork {
  /** Each picture, and what was left standing above it, as the terminal was sent it. */
  readonly written: string[] = [];
  readonly rawModes: boolean[] = [];
  readonly typist: Typist;
  private readonly keyboard: PassThrough & { setRawMode?: (isRaw: boolean) => void } = new PassThrough();
  private readonly servers;
  private readonly stop = new AbortController();

  constructor(
    server: string,
    dictionary: string,
    recents: string,
    options: { readonly isColored?: boolean; readonly rows?: number; readonly columns?: number } = {},
  ) {
    const { isColored = false, rows = 24, columns = 80 } = options;
    this.servers = autocompleteServers([server]);
    this.keyboard.setRawMode = (isRaw) => void this.rawModes.push(isRaw);
    const nothing = () => undefined;
    this.typist = new Typist({
      servers: this.servers,
      calls: new Calls(this.servers),
      ...{ dictionary, recents, isColored },
      keyboard: this.keyboard,
      display: { rows, columns, write: (text) => this.written.push(text), on: nothing, off: nothing },
      trouble: (error) => troubleText(error, { servers: [server], dictionary, recents, load: undefined }),
      stop: this.stop.signal,
    });
    this.typist.done.catch(() => undefined);
  }

  type(keys: string): void {
    this.keyboard.write(keys);
  }

  endInput(): void {
    this.keyboard.end();
  }

  /** The lines of the picture that is seen now: what was typed, the suggestions, the status. */
  get picture(): string[] {
    const last = this.written.filter((text) => text.includes('\x1b[?25h')).at(-1) ?? '';
    // The line that was typed is written once more behind the picture, to leave the cursor there.
    const [above = ''] = last.split(/\x1b\[\d+A/);
    return plain(above).split('\r\n');
  }

  /** Waits until the picture has such a line, and answers all of it. */
  async sees(what: RegExp, timeoutMs = 10_000): Promise<string[]> {
    const find = () => (this.picture.some((line) => what.test(line)) ? this.picture : undefined);
    return eventually(`a picture with ${what}`, find, { timeoutMs }).catch((error: Error) => {
      throw new Error(`${error.message}; last seen:\n${this.picture.join('\n')}`);
    });
  }

  /** Waits until the answer to what is typed is seen. */
  async answered(): Promise<string[]> {
    return this.sees(/ suggestions? in [\d.]+ m?s[^…]*$/);
  }

  async close(): Promise<void> {
    this.stop.abort();
    await this.typist.done.catch(() => undefined);
    this.servers.close();
  }
}

/** Without what moves the cursor and what makes colours. */
export function plain(text: string): string {
  return text.replace(/\x1b\[[?\d;]*[A-Za-z]/g, '').replace(/^\r/, '');
}
