import { open } from 'node:fs/promises';
import type { Log } from '../base/log';

/** A file that an operator names in a setting. */
export interface NamedFile {
  /** The name of the setting, for messages. */
  readonly setting: string;
  readonly path: string;
}

/** A file cannot be used. The message names the setting and the problem. */
export class UnusableFile extends Error {
  override readonly name = 'UnusableFile';
}

export interface WatchedFilesOptions {
  readonly files: readonly NamedFile[];
  /** What the files have, for the log: "the tokens". */
  readonly subject: string;
  /** Bound of each file. */
  readonly maxBytes: number;
  /**
   * Puts new contents to use, in the order of `files`. Throws or rejects with an UnusableFile, and then changes nothing.
   * After another error the same contents are tried again.
   */
  readonly load: (contents: readonly Buffer[]) => void | Promise<void>;
  readonly log: Log;
  readonly intervalMs?: number | undefined;
}

/** How often changes are looked for (ms). */
const INTERVAL_MS = 1000;

/**
 * Loads files again when the content of a file changes. The content is compared, because the time of a file does not
 * tell each change, and Kubernetes replaces files by symbolic links. A changed content is used when two looks in a row
 * have found it, because a program may be writing the file. Files that cannot be used change nothing, and the log names
 * each problem once.
 */
export class WatchedFiles {
  /** The contents of the last look. */
  private seen: readonly Buffer[] = [];
  /** The contents that were tried last. */
  private tried: readonly Buffer[] = [];
  private isTriedGood = false;
  private lastProblem: string | undefined;
  private timer: NodeJS.Timeout | undefined;
  private isClosed = false;

  constructor(private readonly options: WatchedFilesOptions) {}

  /** Loads the files after one look, and from then on each change. Rejects with an UnusableFile. */
  async start(): Promise<void> {
    await this.use(await this.read());
    this.lookAgain();
  }

  /** Whether the last look has found files that cannot be used, so that older contents are in use. */
  get hasFailed(): boolean {
    return this.lastProblem !== undefined;
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
  }

  private lookAgain(): void {
    if (this.isClosed) return;
    this.timer = setTimeout(() => void this.look(), this.options.intervalMs ?? INTERVAL_MS).unref();
  }

  private async look(): Promise<void> {
    const { log, subject } = this.options;
    try {
      const contents = await this.read();
      const isSettled = areEqual(contents, this.seen);
      this.seen = contents;
      if (areEqual(contents, this.tried)) {
        if (this.lastProblem !== undefined && this.isTriedGood) log.info({}, `${subject} can be read again`);
      } else if (isSettled && !this.isClosed) {
        await this.use(contents);
        log.info({}, `loaded ${subject} again`);
      }
      if (this.isTriedGood) this.lastProblem = undefined;
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      if (problem !== this.lastProblem) {
        log.warn({ problem }, `${subject} could not be loaded again; the last good ones stay in use`);
      }
      this.lastProblem = problem;
    }
    this.lookAgain();
  }

  private read(): Promise<readonly Buffer[]> {
    const { files, maxBytes } = this.options;
    return Promise.all(files.map((file) => readBounded(file, maxBytes)));
  }

  /** Contents that cannot be used are tried once. */
  private async use(contents: readonly Buffer[]): Promise<void> {
    this.tried = contents;
    this.isTriedGood = false;
    try {
      await this.options.load(contents);
    } catch (error) {
      if (!(error instanceof UnusableFile)) this.tried = [];
      throw error;
    }
    this.isTriedGood = true;
  }
}

function areEqual(ones: readonly Buffer[], others: readonly Buffer[]): boolean {
  return (
    ones.length === others.length && ones.every((one, index) => one.equals(others[index] ?? Buffer.alloc(0)))
  );
}

async function readBounded({ setting, path }: NamedFile, maxBytes: number): Promise<Buffer> {
  try {
    const file = await open(path, 'r');
    try {
      const { size } = await file.stat();
      if (size > maxBytes) throw new Error(`the file has ${size} bytes; at most ${maxBytes} are accepted`);
      return await file.readFile();
    } finally {
      await file.close();
    }
  } catch (cause) {
    throw new UnusableFile(`${setting} cannot be read: ${String(cause)}`, { cause });
  }
}
