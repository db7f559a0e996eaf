import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { RedisProcess } from '../support/processes/redis-process';
import { makeScratchFolder } from '../support/scratch-folder';
import { ServerProcess } from '../support/processes/server-process';
import type { Program } from '../support/toolchains';
import { ExampleProcess, type ExampleProcessOptions } from './example-process';
import { LedgerProcess } from './ledger-process';
import { SlowLedger } from './slow-ledger';
import { TypingProcess } from './typing-process';

interface Closeable {
  close(): Promise<void>;
}

/** A Redis with two servers, and a ledger. Each test gets a new name and its own programs. */
export class Stage {
  /** The name of the lock, the semaphore, the election or the dictionary of the current test. */
  name = '';
  private readonly ofTest: Closeable[] = [];

  private constructor(
    readonly redis: RedisProcess,
    readonly folder: string,
    readonly servers: readonly ServerProcess[],
    readonly ledger: LedgerProcess,
  ) {}

  static async open(): Promise<Stage> {
    const folder = makeScratchFolder('examples');
    const redis = await RedisProcess.start();
    const start = () => ServerProcess.start({ redisUrl: redis.url });
    const [first, second, ledger] = await Promise.all([start(), start(), LedgerProcess.start()]);
    return new Stage(redis, folder, [first, second], ledger);
  }

  /** The addresses of the servers that stay during the test. */
  get addresses(): string {
    return this.servers.map(({ listen }) => listen).join(',');
  }

  async close(): Promise<void> {
    await this.clear();
    await Promise.all([this.ledger, ...this.servers].map((process) => process.close()));
    await this.redis.close();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Call this before each test. */
  reset(): void {
    this.name = `report-${randomUUID()}`;
  }

  /** Call this after each test. */
  async clear(): Promise<void> {
    await Promise.all(this.ofTest.splice(0).map((process) => process.close()));
  }

  /** A path for a file of the current test. */
  file(name: string): string {
    return join(this.folder, `${this.name}-${name}`);
  }

  /** A server that the test may kill. */
  async extraServer(): Promise<ServerProcess> {
    return this.closeAfterTest(await ServerProcess.start({ redisUrl: this.redis.url }));
  }

  async slowLedger(): Promise<SlowLedger> {
    return this.closeAfterTest(await SlowLedger.open(this.ledger.url));
  }

  async start(
    program: Program,
    args: readonly string[],
    options?: ExampleProcessOptions,
  ): Promise<ExampleProcess> {
    return this.closeAfterTest(await ExampleProcess.start(program, args, options));
  }

  typing(program: Program, args: readonly string[]): TypingProcess {
    return this.closeAfterTest(new TypingProcess(program, args));
  }

  private closeAfterTest<T extends Closeable>(started: T): T {
    this.ofTest.push(started);
    return started;
  }
}
