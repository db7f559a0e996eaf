import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { libraryNote } from '../../generated/redis/scripts';
import type { Clock } from '../base/clock';
import { librariesKey } from './buckets';
import type { Entry, Script } from './script';
import { isNotPermitted, isReplyError } from './failure-class';

/** How often a server notes that it uses its library, and looks for those that no server uses (ms). */
const NOTE_INTERVAL_MS = 3_600_000;
/** The pause after a note that failed (ms). */
const FAILED_NOTE_PAUSE_MS = 60_000;
/** The pause between two tries to load the library into a Redis that does not take it now (ms). */
const LOAD_PAUSE_MS = 5000;
/** The answer to FUNCTION LOAD of a Redis that writes nothing now. It comes before a look at the library. */
const TAKES_NO_WRITES = /^(OOM|MISCONF|NOREPLICAS|LOADING|BUSY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN)\b/;

/**
 * - `loaded`: Redis has the library.
 * - `missing`: Redis lacks the library and does not take it now. The server tries again.
 * - `refused`: Redis has no functions, cannot read this library, or its user may not load or call functions. The server tries
 *   again over its next connection, or when the user gets the rights.
 */
export type LibraryState = 'loaded' | 'missing' | 'refused';

export interface LibraryOptions {
  /** The text, with `LIBRARY` in place of the name. */
  readonly text: string;
  readonly prefix: string;
  readonly client: () => Redis;
  /** A bucket of this Redis, for the key that says which libraries are in use. Undefined: not known yet. */
  readonly bucket: () => number | undefined;
  readonly clock: Clock;
  /** Called once for a connection, when operations must run by their scripts. */
  readonly onScripts: () => void;
  /** Redis refuses the library for a reason that this server does not know. */
  readonly onError: (error: Error) => void;
}

/**
 * The library of one Redis. Operations run by its functions, and by their scripts while Redis lacks the library. The library
 * may come and go at any time, because it says nothing about the data: only epochs do. See decision 035 in
 * docs/design/decisions.
 */
export class LoadedLibrary {
  readonly name: string;
  /** The names of all versions for this service begin so. */
  private readonly family: string;
  private current: LibraryState = 'missing';
  private readonly functions: Readonly<Record<Entry, string>>;
  /** The connection over which a load is under way. */
  private loadingOver: Redis['stream'] | undefined;
  /** True if Redis was given the scripts over this connection. */
  private hasScripts = false;
  private mayUse = true;
  private nextLoadAt = 0;
  private nextNoteAt = 0;

  constructor(private readonly options: LibraryOptions) {
    const { text, prefix } = options;
    // Names of functions are global in Redis and cannot be loaded twice. With a hash of the text, servers of different
    // versions have libraries side by side. With a hash of the prefix, no other service on this Redis deletes the library.
    this.family = `holdfast_${hashOf(prefix, 8)}`;
    this.name = `${this.family}_${hashOf(text, 16)}`;
    const { name } = this;
    this.functions = { keep: `${name}_keep`, grow: `${name}_grow`, read: `${name}_read` };
  }

  get state(): LibraryState {
    return this.current;
  }

  /** The function that carries out the operation of a script. Undefined: the script must run. */
  functionFor({ operation }: Script): string | undefined {
    if (this.current !== 'loaded' || operation?.library !== this.options.text) return undefined;
    return this.functions[operation.entry];
  }

  /** A new connection may lead to another Redis. */
  connected(): void {
    this.current = 'missing';
    this.hasScripts = false;
    this.nextNoteAt = 0;
    void this.load();
  }

  /** Loads the library if Redis lacks it, and notes its use once in an hour. Called about once a second. */
  check(): void {
    const now = this.options.clock.now();
    if (this.current === 'missing' && now >= this.nextLoadAt) void this.load();
    if (this.current === 'loaded' && now >= this.nextNoteAt) void this.note();
  }

  /** Redis has no such function: somebody has deleted the library, or a replica without it has taken over. */
  lost(): void {
    if (this.current !== 'loaded') return;
    this.current = 'missing';
    void this.load();
  }

  /** The Redis user may not load or call functions. */
  refuse(): void {
    this.current = 'refused';
    this.giveScripts();
  }

  /** What Redis says of its user's rights. */
  setRights(mayUse: boolean): void {
    const wereGiven = mayUse && !this.mayUse;
    this.mayUse = mayUse;
    if (!mayUse) this.refuse();
    else if (wereGiven && this.current === 'refused') this.current = 'missing';
  }

  private giveScripts(): void {
    if (this.hasScripts) return;
    this.hasScripts = true;
    this.options.onScripts();
  }

  private async load(): Promise<void> {
    const client = this.options.client();
    const { stream } = client;
    if (this.loadingOver === stream) return;
    this.loadingOver = stream;
    this.nextLoadAt = this.options.clock.now() + LOAD_PAUSE_MS;
    const state = await client
      .call('FUNCTION', 'LOAD', this.options.text.replaceAll('LIBRARY', this.name))
      .then(
        () => 'loaded' as const,
        (error: unknown) => this.stateAfter(error),
      );
    if (this.loadingOver === stream) this.loadingOver = undefined;
    // Undefined: the connection is lost, and the next one begins anew.
    if (state === undefined || client.stream !== stream || this.current !== 'missing') return;
    this.current = state;
    if (state !== 'loaded') this.giveScripts();
  }

  private async stateAfter(error: unknown): Promise<LibraryState | undefined> {
    if (!isReplyError(error)) return undefined;
    const { message } = error;
    if (/already exists/.test(message)) return 'loaded'; // a library of the same name is the same library
    if (isNotPermitted(error) || /unknown (sub)?command/i.test(message)) return 'refused';
    if (/^READONLY/.test(message)) return 'missing'; // a replica carries out nothing
    if (TAKES_NO_WRITES.test(message)) return (await this.isThere()) ? 'loaded' : 'missing';
    this.options.onError(error);
    return 'refused';
  }

  /** Calls the library for no operation. */
  private isThere(): Promise<boolean> {
    const { read } = this.functions;
    return this.options
      .client()
      .call('FCALL', read, '0', '', '0', '', '0', '0')
      .then(
        () => true,
        () => false,
      );
  }

  /** Notes that this library is in use, and deletes those of this service that no server uses any more. */
  private async note(): Promise<void> {
    const { client, clock, prefix, bucket } = this.options;
    this.nextNoteAt = clock.now() + FAILED_NOTE_PAUSE_MS;
    const place = bucket();
    if (place === undefined) return;
    const redis = client();
    try {
      const listed = await redis.call('FUNCTION', 'LIST', 'LIBRARYNAME', `${this.family}_*`);
      const others = (listed as string[][]).map((fields) => fields[fields.indexOf('library_name') + 1] ?? '');
      const names = [this.name, ...others.filter((name) => name !== this.name)];
      const unused = await redis.call('EVAL', libraryNote, '1', librariesKey(prefix, place), ...names);
      for (const name of unused as string[])
        await redis.call('FUNCTION', 'DELETE', name).catch(unlessUnknown);
      this.nextNoteAt = clock.now() + NOTE_INTERVAL_MS;
    } catch {
      // A later note does the same.
    }
  }
}

function hashOf(text: string, length: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, length);
}

function unlessUnknown(error: unknown): void {
  if (!isReplyError(error) || !/not found/.test(error.message)) throw error;
}
