import { Redis, type ChainableCommander } from 'ioredis';
import { operation, type Script } from '../../../src/redis/script';
import { RedisProcess } from '../processes/redis-process';
import { argumentCounts } from '../redis-operations';
import { CONTENT_OF } from './bucket-copy';
import { withFrozenClock } from './lease-server';
import { FROZEN_CLOCK } from './lease-stored';
import {
  type DrawnCommand,
  type DrawnHistory,
  EDITED_KEYS,
  EPOCH_KEYS,
  EXPECTED_EPOCH,
  textOf,
} from './library-operations';

/** What an observer of Redis sees of a history. */
export interface Outcome {
  /** Of each command, the reply to each of its operations. */
  readonly replies: readonly (readonly unknown[])[];
  /** The stored keys, at several times. */
  readonly stored: readonly unknown[];
}

/** The library and its operations' scripts, by the names of the operations. */
export interface LibraryTexts {
  readonly library: string;
  readonly scripts: ReadonlyMap<string, Script>;
}

/** Of the embedded scripts, by the names of their constants. */
export function libraryTexts(embedded: ReadonlyMap<string, string>): LibraryTexts {
  const textNamed = (name: string): string => {
    const text = embedded.get(name);
    if (text === undefined) throw new Error(`there is no script ${name}`);
    return withFrozenClock(text);
  };
  const library = textNamed('leaseLibrary');
  const scripts = [...argumentCounts(library).keys()].map((name) => {
    const text = textNamed(`lease${name[0]?.toUpperCase()}${name.slice(1)}`);
    return [name, operation(library, name, text)] as const;
  });
  return { library, scripts: new Map(scripts) };
}

/** So many operations a history has. */
export const operationCount = ({ commands }: DrawnHistory): number =>
  commands.reduce((count, { operations }) => count + operations.length, 0);

/** The driven clock is a day ahead of Redis's clock, so that no key expires unless Redis's own clock decides. */
const AHEAD_S = 86_400;
/** Commands between two looks at the stored keys. */
const LOOK_EVERY = 20;

/** All keys except the clock: type, the time of the expiry (ms), or 'soon' if Redis's own clock has decided, and content. */
const LOOK = `${CONTENT_OF}
  local keys, found, time = redis.call('KEYS', '*'), {}, redis.call('TIME')
  table.sort(keys)
  for _, key in ipairs(keys) do
    local expiry, type, content = redis.call('PEXPIRETIME', key), content_of(key)
    if expiry > 0 and expiry < (time[1] + ${AHEAD_S / 2}) * 1000 then expiry = 'soon' end
    if key ~= '${FROZEN_CLOCK}' then found[#found + 1] = { key, type, expiry, content } end
  end
  return found`;

/** The code of an error, and its message without the place in a text. */
const ERROR = /^([A-Z]+) (?:\w+:\d+: )?(.*?)(?: script: .*)?$/s;

function comparable(reply: unknown): unknown {
  if (reply instanceof Error) return { error: ERROR.exec(reply.message)?.slice(1) ?? reply.message };
  return Array.isArray(reply) ? reply.map(comparable) : reply;
}

const FUNCTION_NAME = 'tested';
/** A broken library may loop without end. */
const COMMAND_TIMEOUT_MS = 20_000;

/** Two Redis: one carries out operations by their scripts, the other as functions of the library. */
export class LibraryRuns {
  private constructor(
    readonly texts: LibraryTexts,
    private readonly processes: readonly RedisProcess[],
    private readonly ofScripts: Redis,
    private readonly ofFunctions: Redis,
    private readonly startUs: number,
  ) {}

  static async open(embedded: ReadonlyMap<string, string>): Promise<LibraryRuns> {
    const texts = libraryTexts(embedded);
    const options = { inMemory: true, args: ['--appendonly', 'no'] };
    const processes = await Promise.all([RedisProcess.start(options), RedisProcess.start(options)]);
    const [ofScripts, ofFunctions] = processes.map(
      ({ adminUrl }) => new Redis(adminUrl, { stringNumbers: true, commandTimeout: COMMAND_TIMEOUT_MS }),
    ) as [Redis, Redis];
    const [seconds = '0'] = (await ofScripts.call('TIME')) as string[];
    const startUs = (Number(seconds) + AHEAD_S) * 1_000_000;
    const runs = new LibraryRuns(texts, processes, ofScripts, ofFunctions, startUs);
    await Promise.all([...texts.scripts.values()].map(({ text }) => ofScripts.call('SCRIPT', 'LOAD', text)));
    await runs.use(texts.library);
    return runs;
  }

  async close(): Promise<void> {
    this.ofScripts.disconnect();
    this.ofFunctions.disconnect();
    await Promise.all(this.processes.map((one) => one.close()));
  }

  /** From now on, functions are those of this library. */
  async use(library: string): Promise<void> {
    await this.ofFunctions.call('FUNCTION', 'LOAD', 'REPLACE', library.replaceAll('LIBRARY', FUNCTION_NAME));
  }

  /** Carries out the operations one by one. */
  byScripts(history: DrawnHistory): Promise<Outcome> {
    return this.run(this.ofScripts, history, (pipeline, { server, operations }, head, times) => {
      for (const { name, state, bucket, args } of operations) {
        const { sha } = this.texts.scripts.get(name) as Script;
        const own = args.map((argument) => textOf(argument, server, times));
        pipeline.call('EVALSHA', sha, 2, state, EPOCH_KEYS[bucket] as string, ...head, ...own);
      }
      return (replies) => replies;
    });
  }

  /** Carries out each command of the history by one call. */
  byFunctions(history: DrawnHistory): Promise<Outcome> {
    return this.run(this.ofFunctions, history, (pipeline, { server, entry, operations }, head, times) => {
      const keys = [...operations.map(({ state }) => state), ...EPOCH_KEYS];
      const own = operations.flatMap(({ name, bucket, args }) => [
        ...[name, bucket + 1],
        ...args.map((argument) => textOf(argument, server, times)),
      ]);
      const name = `${FUNCTION_NAME}_${entry}`;
      pipeline.call('FCALL', name, keys.length, ...keys, ...head, operations.length, ...own);
      return ([reply]) => (Array.isArray(reply) ? reply : [reply]);
    });
  }

  private async run(
    redis: Redis,
    { retentionMs, isEdited, commands }: DrawnHistory,
    /** Adds the calls of a command. The returned function makes the replies of its operations of the calls' replies. */
    add: (
      pipeline: ChainableCommander,
      command: DrawnCommand,
      head: readonly (string | number)[],
      times: readonly number[],
    ) => (replies: unknown[]) => unknown[],
  ): Promise<Outcome> {
    const pipeline = redis.pipeline();
    const readers: ((all: unknown[]) => void)[] = [];
    const [replies, stored]: [unknown[][], unknown[]] = [[], []];
    const look = (): void => {
      const at = pipeline.length;
      pipeline.call('EVAL', LOOK, 0);
      readers.push((all) => void stored.push(comparable(all[at])));
    };
    pipeline.call('FLUSHDB');
    if (isEdited) for (const key of EDITED_KEYS) pipeline.call('SET', key, 'no sorted set');
    const times: number[] = [];
    const epochs: string[] = [];
    for (const [index, command] of commands.entries()) {
      const now = (times.at(-1) ?? this.startUs) + command.passUs;
      times.push(now);
      const seconds = Math.floor(now / 1_000_000);
      if (now !== times.at(-2))
        pipeline.call('HSET', FROZEN_CLOCK, 's', seconds, 'us', now - seconds * 1_000_000);
      for (const [bucket, parts] of command.epochs.entries()) {
        const key = EPOCH_KEYS[bucket] as string;
        const text = parts.map((part) => textOf(part, command.server, times)).join('');
        if (text === epochs[bucket]) continue;
        epochs[bucket] = text;
        if (text === '') pipeline.call('DEL', key);
        else pipeline.call('SET', key, text);
      }
      const head = [command.server, retentionMs, EXPECTED_EPOCH, command.isLate ? now - 1 : now];
      const from = pipeline.length;
      const repliesOf = add(pipeline, command, head, times);
      const to = pipeline.length;
      readers.push((all) => void replies.push(repliesOf(all.slice(from, to)).map(comparable)));
      if (index % LOOK_EVERY === LOOK_EVERY - 1) look();
    }
    look();
    const results = (await pipeline.exec()) ?? [];
    const all = results.map(([error, reply]) => error ?? reply);
    for (const read of readers) read(all);
    return { replies, stored };
  }
}
