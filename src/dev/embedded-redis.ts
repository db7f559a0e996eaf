import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ChildSupervisor, type ChildExit } from './child-supervisor';
import { tryPidLock } from './pid-lock.cjs';
import { askRedis, somebodyListens } from './redis-probe';
import { findRedisServer, type FindOptions, type RedisServerProgram } from './redis-server';
import { socketPath } from './socket-path';

const PROBE_TIMEOUT_MS = 1_000;
const POLL_MS = 20;
/** From its start until Redis takes connections; loading its data comes after that and may take longer. */
const OPEN_TIMEOUT_MS = 20_000;
/** A shutdown writes what is left and answers nobody meanwhile. */
const GRACE_MS = 5_000;
const LOG_FILE = 'redis.log';
/** Redis that ends again and again will not come to its senses by being started again. */
const MOST_RESTARTS_PER_MINUTE = 5;

export interface EmbeddedOptions {
  /** Everything is kept here: data, log, socket. */
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  /** Told what takes a while, and what went wrong on the way. */
  readonly note: (text: string) => void;
  readonly find?: (options: FindOptions) => Promise<RedisServerProgram>;
}

/** The arguments that make Redis keep every acknowledged write and be reached by this user alone. */
function redisArguments(dataFolder: string, socket: string): string[] {
  return [
    ...['--port', '0', '--unixsocket', socket, '--unixsocketperm', '700'],
    ...['--dir', dataFolder, '--appendonly', 'yes', '--appendfsync', 'always', '--save', ''],
    ...['--maxmemory', '0', '--maxmemory-policy', 'noeviction'],
    ...['--daemonize', 'no', '--logfile', '', '--loglevel', 'notice'],
  ];
}

/**
 * The private Redis of `npm start`. It survives a restart of the server with all its data, is started again when
 * it ends unasked, is not reached by the terminal's Ctrl-C, and ends when this process ends, however that ends.
 */
export class EmbeddedRedis {
  readonly dataFolder: string;
  private readonly supervisor: ChildSupervisor;
  private stopping = false;
  private ready = false;
  private endings: number[] = [];

  private constructor(
    readonly program: RedisServerProgram,
    private readonly options: EmbeddedOptions,
    readonly socket: string,
    /** No Redis ever ran in this folder, so no lease was ever kept there. */
    readonly isNew: boolean,
    private readonly releaseFolder: () => void,
  ) {
    this.dataFolder = join(options.folder, 'redis');
    this.supervisor = new ChildSupervisor({
      command: program.command,
      args: redisArguments(this.dataFolder, socket),
      env: program.env,
      logFile: this.logFile,
      graceMs: GRACE_MS,
      onExit: (exit) => this.ended(exit),
    });
  }

  /** Rejects when one is running in this folder already, when no server is found, or when it does not start. */
  static async start(given: EmbeddedOptions): Promise<EmbeddedRedis> {
    const options = { ...given, folder: resolve(given.folder) };
    await mkdir(join(options.folder, 'redis'), { recursive: true, mode: 0o700 });
    const lock = tryPidLock(join(options.folder, 'start.lock'));
    if (!lock.taken) {
      throw new Error(
        `Holdfast is running in this folder already (pid ${lock.pid}, ${options.folder}): ` +
          `stop that one first, or use it`,
      );
    }
    try {
      const { env, note } = options;
      const program = await (options.find ?? findRedisServer)({ env, note });
      const socket = await socketPath(options.folder);
      const isNew = await neverUsed(options.folder);
      await endLeftover(socket, note);
      const redis = new EmbeddedRedis(program, options, socket, isNew, lock.release);
      await redis.open();
      return redis;
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  /** What HOLDFAST_REDIS_URL takes: the path of the socket. */
  get url(): string {
    return this.socket;
  }

  get logFile(): string {
    return join(this.options.folder, LOG_FILE);
  }

  /** The process id of redis-server while it runs. */
  get pid(): number | undefined {
    return this.supervisor.pid;
  }

  /** Ends Redis, its data written, and gives the folder back. */
  async stop(): Promise<void> {
    this.stopping = true;
    await this.supervisor.end();
    this.releaseFolder();
  }

  private async open(): Promise<void> {
    try {
      await this.supervisor.start();
      await this.untilReady();
      this.ready = true;
    } catch (error) {
      this.stopping = true;
      await this.supervisor.end();
      throw error;
    }
  }

  /** Until it answers, and has loaded its data. */
  private async untilReady(): Promise<void> {
    const started = performance.now();
    for (let told = false; ;) {
      const answer = await askRedis(this.socket, 'PING', PROBE_TIMEOUT_MS).catch((error: Error) => error);
      if (answer === '+PONG') return;
      if (this.supervisor.pid === undefined) {
        throw new Error(`${this.program.command} ended at its start. ${await this.lastWords()}`);
      }
      const waited = performance.now() - started;
      if (answer instanceof Error && waited > OPEN_TIMEOUT_MS) {
        throw new Error(
          `${this.program.command} does not answer: ${answer.message}. ${await this.lastWords()}`,
        );
      }
      if (!told && typeof answer === 'string' && waited > 2_000) {
        this.options.note(`Redis is loading ${this.dataFolder}`);
        told = true;
      }
      await sleep(POLL_MS);
    }
  }

  private async lastWords(): Promise<string> {
    const log = await readFile(this.logFile, 'utf8').catch(() => '');
    const lines = log.trimEnd().split('\n').slice(-8);
    return `The end of ${this.logFile}:\n${lines.map((line) => `    ${line}`).join('\n')}`;
  }

  private ended({ code, signal }: ChildExit): void {
    if (this.stopping || !this.ready) return;
    const how = signal ?? `exit code ${code}`;
    const now = performance.now();
    this.endings = [...this.endings.filter((at) => now - at < 60_000), now];
    if (this.endings.length > MOST_RESTARTS_PER_MINUTE) {
      this.options.note(`Redis has ended again (${how}) and is not started any more; see ${this.logFile}`);
      return;
    }
    this.options.note(`Redis has ended (${how}): starting it again on the same data`);
    // The first at once, for leases go on meanwhile; the next ones slower.
    setTimeout(() => this.restart(), 200 * (this.endings.length - 1)).unref();
  }

  private restart(): void {
    if (this.stopping) return;
    this.supervisor
      .start()
      .catch((error: Error) => this.options.note(`Redis cannot be started: ${error.message}`));
  }
}

/** Data that was removed by hand leaves the log behind, which says that there was some. */
async function neverUsed(folder: string): Promise<boolean> {
  const [names, data] = await Promise.all([readdir(folder), readdir(join(folder, 'redis'))]);
  return data.length === 0 && !names.includes(LOG_FILE);
}

/**
 * Somebody still listens here although nobody holds the folder: a Redis whose supervisor and parent were both killed.
 * Two on the same data would destroy it, so the old one goes first.
 */
async function endLeftover(socket: string, note: (text: string) => void): Promise<void> {
  if (await somebodyListens(socket)) {
    const info = await askRedis(socket, 'INFO server', PROBE_TIMEOUT_MS).catch(() => '');
    const who = `a Redis of an earlier start (pid ${/^process_id:(\d+)/m.exec(info)?.[1] ?? 'unknown'})`;
    note(`${who} is still running: ending it`);
    // It answers by closing the connection.
    await askRedis(socket, 'SHUTDOWN', GRACE_MS).catch(() => undefined);
    const deadline = performance.now() + GRACE_MS;
    while (await somebodyListens(socket)) {
      if (performance.now() > deadline)
        throw new Error(`${who} holds ${socket} and does not end: kill it first`);
      await sleep(POLL_MS);
    }
  }
  await rm(socket, { force: true });
}
