import { open } from 'node:fs/promises';
import type { Log } from '../grpc/log';

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
  /** Puts new contents to use, in the order of `files`. Throws or rejects with an UnusableFile, and then changes nothing. */
  readonly load: (contents: readonly Buffer[]) => void | Promise<void>;
  readonly log: Log;
  readonly intervalMs?: number | undefined;
}

/** How often changes are looked for (ms). */
const INTERVAL_MS = 1000;

/**
 * Loads files again when the content of a file changes. The content is compared, because the time of a file does not
 * tell each change, and Kubernetes replaces files by symbolic links. Files that cannot be used change nothing, and the
 * log names each problem once.
 */
export class WatchedFiles {
  /** The contents that were tried last. */
  private tried: readonly Buffer[] = [];
  private isTriedGood = false;
  private lastProblem: string | undefined;
  private timer: NodeJS.Timeout | undefined;
  private isClosed = false;

  constructor(private readonly options: WatchedFilesOptions) {}

  /** Loads the files, and from then on each change. Rejects with an UnusableFile. */
  async start(): Promise<void> {
    await this.loadIfChanged();
    this.lookAgain();
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
      if (await this.loadIfChanged()) log.info({}, `loaded ${subject} again`);
      else if (this.lastProblem !== undefined && this.isTriedGood)
        log.info({}, `${subject} can be read again`);
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

  /** Contents that cannot be used are tried once. */
  private async loadIfChanged(): Promise<boolean> {
    const { files, maxBytes, load } = this.options;
    const contents = await Promise.all(files.map((file) => readBounded(file, maxBytes)));
    if (this.isClosed || this.isTried(contents)) return false;
    this.tried = contents;
    this.isTriedGood = false;
    await load(contents);
    this.isTriedGood = true;
    return true;
  }

  private isTried(contents: readonly Buffer[]): boolean {
    return (
      contents.length === this.tried.length &&
      contents.every((content, index) => this.tried[index]?.equals(content))
    );
  }
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
