import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { autocompleteServers } from '../../examples/type-ahead/calls';
import { loadWords } from '../../examples/type-ahead/load';
import { InProcessServer } from '../end-to-end/in-process-server';
import { closeAll } from '../support/close-all';
import { RedisProcess } from '../support/processes/redis-process';
import { builtFile } from './launchers';

const WORDS = [
  'house',
  'household',
  'housing',
  'lighthouse',
  'heron',
  'café',
  'cafe\u0301 noir',
  '東京都',
  '👩‍👩‍👧 family',
];

/** A server with its Redis. Each test gets a new dictionary with a few words, and a new list of recents. */
export class TypeAheadStage {
  dictionary = '';
  recents = '';

  private constructor(
    private readonly redis: RedisProcess,
    private readonly server: InProcessServer,
  ) {}

  static async open(): Promise<TypeAheadStage> {
    const redis = await RedisProcess.start({ inMemory: true });
    return new TypeAheadStage(redis, await InProcessServer.start(redis.url));
  }

  get address(): string {
    return this.server.address;
  }

  get redisUrl(): string {
    return this.redis.adminUrl;
  }

  /** Call this before each test. */
  async reset(): Promise<void> {
    this.dictionary = `words-${randomUUID()}`;
    this.recents = `type-ahead:${randomUUID()}`;
    await this.fill(WORDS);
  }

  /** Replaces the words of the dictionary. */
  async fill(words: readonly string[]): Promise<void> {
    const servers = autocompleteServers([this.address]);
    const entries = words.map((word) => ({ text: word, weight: Math.max(0, 10 - [...word].length) }));
    await loadWords(servers.client(), this.dictionary, entries, () => undefined);
    servers.close();
  }

  async deleteDictionary(): Promise<void> {
    const { dictionary } = this;
    const servers = autocompleteServers([this.address]);
    await new Promise<void>((resolve) => servers.client().deleteDictionary({ dictionary }, () => resolve()));
    servers.close();
  }

  /** Runs the program with the input, and returns its whole output. The end of the input ends the program. */
  async runProgram(
    args: readonly string[],
    input: string,
  ): Promise<{ lines: string[]; code: number | null }> {
    const { dictionary, address } = this;
    const program = builtFile('examples', 'type-ahead', 'type-ahead.js');
    const options = ['--dictionary', dictionary, '--user', 'nobody', '--server', address, ...args];
    const child = spawn(process.execPath, [program, ...options]);
    // A program that ends early does not read its input, and the write to its input then fails.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
    const [stdout, stderr, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'exit') as Promise<[number | null]>,
    ]);
    return { lines: `${stdout}${stderr}`.split('\n').slice(0, -1), code };
  }

  close(): Promise<void> {
    return closeAll(
      () => this.server.close(),
      () => this.redis.close(),
    );
  }
}
