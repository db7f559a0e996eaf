import { PassThrough } from 'node:stream';
import { autocompleteServers, Calls } from '../../examples/type-ahead/calls';
import { errorText } from '../../examples/type-ahead/error-text';
import { Typist } from '../../examples/type-ahead/typist';
import { eventually } from '../support/eventually';

/** The program of a typist at a simulated terminal. Tests type keys, and read the pictures that the program draws. */
export class TypistTerminal {
  /** The texts that the program wrote to the terminal: pictures, and lines that stay above the pictures. */
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
    const ignore = () => undefined;
    this.typist = new Typist({
      servers: this.servers,
      calls: new Calls(this.servers),
      ...{ dictionary, recents, isColored },
      keyboard: this.keyboard,
      display: { rows, columns, write: (text) => this.written.push(text), on: ignore, off: ignore },
      describeError: (error) => errorText(error, { servers: [server], dictionary, recents, load: undefined }),
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

  /** The lines of the newest picture: the typed text, the suggestions, the status. */
  get picture(): string[] {
    const last = this.written.filter((text) => text.includes('\x1b[?25h')).at(-1) ?? '';
    // After the picture the program writes the typed text again, to place the cursor.
    const [above = ''] = last.split(/\x1b\[\d+A/);
    return plain(above).split('\r\n');
  }

  /** Waits until the picture has a matching line, and returns the picture. */
  async sees(line: RegExp, timeoutMs = 20_000): Promise<string[]> {
    const find = () => (this.picture.some((text) => line.test(text)) ? this.picture : undefined);
    return eventually(`a picture with ${line}`, find, { timeoutMs }).catch((error: Error) => {
      throw new Error(`${error.message}; last seen:\n${this.picture.join('\n')}`);
    });
  }

  /** Waits for the answer to the typed text, and returns the picture. */
  async seesAnswer(): Promise<string[]> {
    return this.sees(/ suggestions? in [\d.]+ m?s[^…]*$/);
  }

  async close(): Promise<void> {
    this.stop.abort();
    await this.typist.done.catch(() => undefined);
    this.servers.close();
  }
}

/** Removes the codes that move the cursor and set colours. */
export function plain(text: string): string {
  return text.replace(/\x1b\[[?\d;]*[A-Za-z]/g, '').replace(/^\r/, '');
}
