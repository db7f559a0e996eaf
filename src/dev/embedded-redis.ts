import { createHash } from 'node:crypto';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ChildExit, ChildSupervisor } from './child-supervisor';
import { type FindOptions, findRedisServer, isPrivateFolder } from './find-redis';
import { tryPidLock } from './pid-lock.cjs';
import { type BackoffDelays, RedisRestarts } from './restarts';
import {
  complainsOfFullDisk,
  diskFullText,
  isDiskError,
  isFull,
  type RedisServerProgram,
} from './run-command';

/** The complete reply, or undefined if a part is missing. Supports lines (+, -, :) and bulk strings ($). */
function completeReply(received: string): string | undefined {
  const end = received.indexOf('\r\n');
  if (end < 0) return undefined;
  if (!received.startsWith('$')) return received.slice(0, end);
  const length = Number(received.slice(1, end));
  const text = received.slice(end + 2);
  return Buffer.byteLength(text) >= length ? text : undefined;
}

/**
 * Sends one command to a Redis over a new connection to its Unix socket. Resolves to the raw text of the reply, for
 * example "+PONG" or "-LOADING …". Rejects if no reply comes within the timeout.
 */
function askRedis(socket: string, command: string, timeoutMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const connection = connect(socket);
    const fail = (why: string): void => {
      connection.destroy();
      reject(new Error(`${command} to ${socket}: ${why}`));
    };
    let received = '';
    connection.setEncoding('utf8');
    connection.setTimeout(timeoutMs, () => fail(`no answer within ${timeoutMs} ms`));
    connection.on('error', (error) => fail(error.message));
    connection.on('close', () => fail('the connection was closed'));
    connection.on('data', (text: string) => {
      received += text;
      const reply = completeReply(received);
      if (reply === undefined) return;
      resolve(reply);
      connection.destroy();
    });
    connection.write(`${command}\r\n`);
  });
}

/** Resolves to true if a process listens on this socket. A socket file may exist without a process. */
function isListening(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = connect(socket);
    connection.on('connect', () => {
      resolve(true);
      connection.destroy();
    });
    connection.on('error', (error: NodeJS.ErrnoException) =>
      resolve(error.code !== 'ENOENT' && error.code !== 'ECONNREFUSED'),
    );
  });
}

const PROBE_TIMEOUT_MS = 1_000;
/** The time in which Redis must stop after SHUTDOWN. Redis first writes its data. */
const SHUTDOWN_TIMEOUT_MS = 5_000;
const POLL_MS = 20;

/**
 * Returns true if no Redis ever ran in this folder. Returns false for a folder with a log but without data, because a
 * user has removed the data of an earlier Redis.
 */
async function isNeverUsed(folder: string, logName: string): Promise<boolean> {
  const [names, data] = await Promise.all([readdir(folder), readdir(join(folder, 'redis'))]);
  return data.length === 0 && !names.includes(logName);
}

/**
 * Ends a Redis of an earlier `npm start`. Such a Redis still runs if its parent and its supervisor were both killed.
 * Two Redis processes with the same data folder would destroy the data.
 */
async function endLeftover(socket: string, note: (text: string) => void): Promise<void> {
  if (await isListening(socket)) {
    const info = await askRedis(socket, 'INFO server', PROBE_TIMEOUT_MS).catch(() => '');
    const pid = /^process_id:(\d+)/m.exec(info)?.[1] ?? 'unknown';
    const leftover = `a Redis of an earlier start (pid ${pid})`;
    note(`${leftover} is still running: stopping it`);
    // Redis answers SHUTDOWN by closing the connection, which askRedis reports as an error.
    await askRedis(socket, 'SHUTDOWN', SHUTDOWN_TIMEOUT_MS).catch(() => undefined);
    const deadline = performance.now() + SHUTDOWN_TIMEOUT_MS;
    while (await isListening(socket)) {
      if (performance.now() > deadline) {
        throw new Error(`${leftover} holds ${socket} and does not stop: kill the process, then start again`);
      }
      await sleep(POLL_MS);
    }
  }
  await rm(socket, { force: true });
}

/** The longest socket path on macOS. Linux accepts 107 bytes. Both truncate a longer path without an error. */
const MAX_SOCKET_PATH_BYTES = 103;

/**
 * The path of the Redis socket for a folder. The socket lies in this folder, or in the temporary folder if the path is
 * too long. Its name there is a digest of the folder's path, so that the next start finds the same socket.
 */
async function socketPath(folder: string): Promise<string> {
  const inside = join(folder, 'redis.sock');
  if (Buffer.byteLength(inside) <= MAX_SOCKET_PATH_BYTES) return inside;
  const outside = join(tmpdir(), `holdfast-${process.getuid?.() ?? 0}`);
  const name = createHash('sha256').update(folder).digest('hex').slice(0, 16);
  if (await isPrivateFolder(outside)) return join(outside, `${name}.sock`);
  throw new Error(
    `${inside} is too long for a socket (at most ${MAX_SOCKET_PATH_BYTES} bytes), and ${outside} is not private ` +
      'to this user: start in a folder with a shorter path, or set HOLDFAST_REDIS_URL',
  );
}

/** The time in which Redis must accept connections after its start. Redis may load its data for longer. */
const OPEN_TIMEOUT_MS = 20_000;
/** If Redis loads its data for longer than this, a note tells the user. */
const SLOW_LOADING_MS = 2_000;
/** The time between SIGTERM and SIGKILL. Redis writes its data after SIGTERM. */
const GRACE_MS = 5_000;
const LOG_FILE = 'redis.log';
const LAST_LINES = 8;

export interface EmbeddedOptions {
  /** The folder for the data, the log and the socket. */
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  /** Prints a line of text for the user before a slow step and after a failure. */
  readonly note: (text: string) => void;
  readonly find?: (options: FindOptions) => Promise<RedisServerProgram>;
  /** The pauses between the restarts of a Redis that ends again and again. Default: 250 ms to 30 s. */
  readonly restartDelays?: BackoffDelays;
}

/** With these arguments Redis keeps every acknowledged write, evicts nothing, and only this user can connect. */
function redisArguments(dataFolder: string, socket: string): string[] {
  return [
    ...['--port', '0', '--unixsocket', socket, '--unixsocketperm', '700'],
    ...['--dir', dataFolder, '--appendonly', 'yes', '--appendfsync', 'always', '--save', ''],
    ...['--maxmemory', '0', '--maxmemory-policy', 'noeviction'],
    ...['--daemonize', 'no', '--logfile', '', '--loglevel', 'notice'],
  ];
}

/**
 * The private Redis of `npm start`. The data survives a restart of the server. A Redis that ends is started again,
 * as often as necessary: after a crash, and when a full disk has room again.
 * Ctrl-C in the terminal does not reach Redis. Redis ends when this process ends, even by SIGKILL.
 */
export class EmbeddedRedis {
  readonly dataFolder: string;
  private readonly supervisor: ChildSupervisor;
  private readonly restarts: RedisRestarts;
  private ready = false;
  /** The output of a Redis that ended during its start. */
  private lastOutput = '';

  private constructor(
    readonly program: RedisServerProgram,
    private readonly options: EmbeddedOptions,
    readonly socket: string,
    /** True: no Redis ever ran in this folder, so no lease was ever granted with this data. */
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
      onExit: (exit) => this.onExit(exit),
    });
    this.restarts = new RedisRestarts({
      start: () => this.supervisor.start(),
      dataFolder: this.dataFolder,
      logFile: this.logFile,
      note: options.note,
      delays: options.restartDelays,
    });
  }

  /** Rejects if the folder is in use, if no server program is found, or if Redis does not start. */
  static async start(given: EmbeddedOptions): Promise<EmbeddedRedis> {
    const options = { ...given, folder: resolve(given.folder) };
    try {
      return await EmbeddedRedis.startIn(options);
    } catch (error) {
      if (!isDiskError(error)) throw error;
      const { message } = error as Error;
      throw new Error(`${diskFullText(options.folder)}, then start again (${message})`, { cause: error });
    }
  }

  private static async startIn(options: EmbeddedOptions): Promise<EmbeddedRedis> {
    await mkdir(join(options.folder, 'redis'), { recursive: true, mode: 0o700 });
    const lock = tryPidLock(join(options.folder, 'start.lock'));
    if (!lock.taken) {
      throw new Error(
        `Holdfast is already running in this folder (pid ${lock.pid}, ${options.folder}): stop that process, or use its server`,
      );
    }
    try {
      const { env, note } = options;
      const program = await (options.find ?? findRedisServer)({ env, note });
      const socket = await socketPath(options.folder);
      const isNew = await isNeverUsed(options.folder, LOG_FILE);
      await endLeftover(socket, note);
      const redis = new EmbeddedRedis(program, options, socket, isNew, lock.release);
      await redis.open();
      return redis;
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  /** The value for HOLDFAST_REDIS_URL: the path of the socket. */
  get url(): string {
    return this.socket;
  }

  get logFile(): string {
    return join(this.options.folder, LOG_FILE);
  }

  /** The process id of redis-server. Undefined: Redis does not run. */
  get pid(): number | undefined {
    return this.supervisor.pid;
  }

  /** Stops Redis and releases the folder. Redis writes its data before it stops. */
  async stop(): Promise<void> {
    this.restarts.stop();
    await this.supervisor.end();
    this.releaseFolder();
  }

  private async open(): Promise<void> {
    try {
      await this.supervisor.start();
      await this.waitUntilReady();
      this.ready = true;
    } catch (error) {
      this.restarts.stop();
      await this.supervisor.end();
      throw error;
    }
  }

  /** Waits until Redis has loaded its data and answers PING. */
  private async waitUntilReady(): Promise<void> {
    const { command } = this.program;
    const startedAt = performance.now();
    for (let noted = false; ;) {
      const answer = await askRedis(this.socket, 'PING', PROBE_TIMEOUT_MS).catch((error: Error) => error);
      if (answer === '+PONG') return;
      if (this.supervisor.pid === undefined) {
        throw new Error(`${command} ended during its start. ${await this.lastLines()}`);
      }
      const waitedMs = performance.now() - startedAt;
      if (answer instanceof Error && waitedMs > OPEN_TIMEOUT_MS) {
        throw new Error(`${command} does not answer: ${answer.message}. See ${this.logFile}`);
      }
      if (!noted && typeof answer === 'string' && waitedMs > SLOW_LOADING_MS) {
        this.options.note(`Redis is loading ${this.dataFolder}`);
        noted = true;
      }
      await sleep(POLL_MS);
    }
  }

  private async lastLines(): Promise<string> {
    const lines = this.lastOutput.trimEnd().split('\n').slice(-LAST_LINES);
    const isDiskFull = complainsOfFullDisk(this.lastOutput) || (await isFull(this.dataFolder));
    return [
      `The end of ${this.logFile}:`,
      ...lines.map((line) => `    ${line}`),
      ...(isDiskFull ? [`${diskFullText(this.dataFolder)}, then start again`] : []),
    ].join('\n');
  }

  private onExit(exit: ChildExit): void {
    if (this.ready) void this.restarts.onExit(exit);
    else this.lastOutput = exit.lastOutput ?? '';
  }
}
