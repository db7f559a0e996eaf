import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { credentials, type ServiceError } from '@grpc/grpc-js';
import { connect, type Holdfast, type Lease } from '../../clients/typescript';
import { LockServiceClient, LockServiceService } from '../../generated/typescript/holdfast/v1/lock_service';
import { closeAll, eventually } from '../support/eventually';
import { sayNotChecked } from '../support/not-checked';
import { inheritedEnvironment, type UnpackedProgram } from '../support/processes/child-program';
import {
  defaultConfiguration,
  documentedConfiguration,
  findNginx,
  NginxProcess,
} from '../support/processes/nginx-process';
import { RedisProcess } from '../support/processes/redis-process';
import { ServerProcess } from '../support/processes/server-process';
import { ROOT } from '../support/root';
import { scratchFolder } from '../support/scratch-folder';

/** `HOLDFAST_TEST_LEASES=2000 npx jest --config test/jest.slow.cjs rolling-restart` runs with more leases. */
const LEASES = Number(process.env['HOLDFAST_TEST_LEASES'] ?? 300);
const CLIENTS = 4;
const LOOPS = 2;
/** Longer than a busy machine takes to start a client or a server. */
const TTL = '30s';
const TIMEOUT_MS = 600_000;
const PROGRAM = join(ROOT, 'dist', 'src', 'cli', 'main.js');

/** Runs `holdfast lock run` again and again. The command fails if another one runs under the same lock. */
class RunLoop {
  readonly failures: string[] = [];
  runs = 0;
  private isOver = false;
  private readonly done: Promise<void>;

  constructor(
    private readonly address: string,
    private readonly folder: string,
  ) {
    this.done = this.loop();
  }

  async end(): Promise<void> {
    this.isOver = true;
    await this.done;
  }

  private async loop(): Promise<void> {
    while (!this.isOver) {
      const failure = await this.once();
      this.runs += 1;
      if (failure !== undefined) this.failures.push(failure);
    }
  }

  private once(): Promise<string | undefined> {
    const alone = 'mkdir alone && sleep 0.2 && rmdir alone';
    const words = [
      'lock',
      'run',
      'loop',
      '--ttl',
      TTL,
      '--timeout',
      '60s',
      '--address',
      this.address,
      '--',
      'sh',
      '-c',
    ];
    const options = { cwd: this.folder, env: inheritedEnvironment() };
    return new Promise((resolve) => {
      execFile(process.execPath, [PROGRAM, ...words, alone], options, (error, _, stderr) =>
        resolve(error === null ? undefined : `exit code ${error.code}: ${stderr}`),
      );
    });
  }
}

describe('a rolling restart of three servers behind nginx', () => {
  let redis: RedisProcess | undefined;
  let servers: ServerProcess[] = [];
  let nginx: NginxProcess | undefined;
  const clients: Holdfast[] = [];
  const loops: RunLoop[] = [];
  let attached = 0;

  afterEach(() =>
    closeAll(
      ...loops.map((loop) => () => loop.end()),
      ...clients.map((client) => () => client.close()),
      () => nginx?.close(),
      ...servers.map((server) => () => server.close()),
      () => redis?.close(),
    ),
  );

  const logger = {
    debug: (message: string) => (attached += message.includes('renews the lease') ? 1 : 0),
    info: () => undefined,
    warn: () => undefined,
    error: () => undefined,
  };

  async function holdAll(address: string): Promise<Lease[]> {
    for (let count = 0; count < CLIENTS; count += 1) {
      clients.push(await connect(address, { timeout: '60s', logger }));
    }
    const names = Array.from({ length: LEASES }, (_, index) => `held-${index}`);
    return Promise.all(
      names.map((name, index) => clients[index % CLIENTS]!.lock(name, { ttl: TTL, wait: '60s' })),
    );
  }

  async function restartEach(redisUrl: string): Promise<void> {
    for (const [index, server] of servers.entries()) {
      const { listen } = server;
      expect(await server.term()).toEqual({ code: 0, signal: null });
      server.assertNoUnhandled();
      servers[index] = await ServerProcess.start({ redisUrl, listen });
    }
  }

  it(
    'loses no lease of a session, and fails no command of `holdfast lock run`',
    async () => {
      const program = await findNginx();
      if ('missing' in program) return sayNotChecked('a rolling restart behind nginx', program.missing);
      redis = await RedisProcess.start();
      const { url: redisUrl } = redis;
      servers = await Promise.all([1, 2, 3].map(() => ServerProcess.start({ redisUrl })));
      nginx = await NginxProcess.start(
        program,
        documentedConfiguration(),
        servers.map(({ listen }) => listen),
      );
      const leases = await holdAll(nginx.listen);
      const tokens = leases.map(({ fencingToken }) => fencingToken);
      const folder = scratchFolder();
      for (let count = 0; count < LOOPS; count += 1) loops.push(new RunLoop(nginx.listen, folder));
      await eventually('a run of a loop', () => loops.some(({ runs }) => runs > 0), { timeoutMs: 60_000 });

      const started = performance.now();
      await restartEach(redisUrl);
      // Every lease was on one of the servers, so every lease has moved at least once.
      await eventually('every lease to be attached again', () => attached >= LEASES, { timeoutMs: 60_000 });
      const seconds = (performance.now() - started) / 1000;
      await Promise.all(loops.map((loop) => loop.end()));

      const lost = leases
        .filter(({ loss }) => loss !== undefined)
        .map(({ name, loss }) => `${name}: ${loss?.message}`);
      expect(lost).toEqual([]);
      expect(loops.flatMap(({ failures }) => failures)).toEqual([]);
      for (const [index, { name }] of leases.entries()) {
        const { lock } = await clients[0]!.call(LockServiceService.getLock, { name });
        expect(lock?.holders.map(({ fencingToken }) => fencingToken)).toEqual([tokens[index]]);
      }
      const runs = loops.reduce((sum, loop) => sum + loop.runs, 0);
      process.stderr.write(
        `rolling restart: ${LEASES} leases, ${attached} times attached again, ${runs} runs, ${seconds.toFixed(0)} s, 0 lost\n`,
      );
    },
    TIMEOUT_MS,
  );
});

/** More than the bound of nginx's default for a request: 1 MiB. */
const SENT_BYTES = 1.25 * 1024 * 1024;
const METADATA_BYTES = 2000;
/** The default of nginx for the time between two messages, and a reserve for busy cores. */
const SILENCE_MS = 66_000;
const CUT_TIMEOUT_MS = 120_000;
const TEST_TIMEOUT_MS = 240_000;

/** A client whose session passes a proxy. */
interface User {
  readonly hf: Holdfast;
  /** How many sessions have started. */
  started: number;
  /** The messages about sessions that have ended. */
  readonly ended: string[];
}

async function connectUser(address: string): Promise<User> {
  const seen = { started: 0, ended: [] as string[] };
  const log = (message: string): void => {
    if (message.endsWith('has started')) seen.started += 1;
    if (message.includes('has ended')) seen.ended.push(message);
  };
  const logger = { debug: () => undefined, info: log, warn: log, error: log };
  const hf = await connect(address, { logger, timeout: '60s' });
  return Object.assign(seen, { hf });
}

/** A watch that hears nothing after the first state, and how it ended. */
function watch(address: string): {
  isOpen: () => boolean;
  error: () => ServiceError | undefined;
  close: () => void;
} {
  const client = new LockServiceClient(address, credentials.createInsecure());
  const stream = client.watchLock({ name: 'silent' });
  let isOpen = false;
  let error: ServiceError | undefined;
  stream.on('data', () => (isOpen = true));
  stream.on('error', (cause: ServiceError) => ([isOpen, error] = [false, cause]));
  const close = (): void => {
    stream.cancel();
    client.close();
  };
  return { isOpen: () => isOpen, error: () => error, close };
}

describe('behind nginx', () => {
  let program: UnpackedProgram | undefined;
  let redis: RedisProcess | undefined;
  let server: ServerProcess | undefined;
  let nginx: NginxProcess | undefined;
  let user: User | undefined;

  beforeAll(async () => {
    const found = await findNginx();
    if ('missing' in found) return sayNotChecked('sessions behind nginx', found.missing);
    program = found;
    redis = await RedisProcess.start();
    // nginx counts the pings of a server as messages. These pings come later than its bound for silence.
    const env = { HOLDFAST_KEEPALIVE_TIME: '5m' };
    server = await ServerProcess.start({ redisUrl: redis.url, env });
  }, TEST_TIMEOUT_MS);
  afterEach(() =>
    closeAll(
      () => user?.hf.close(),
      () => nginx?.close(),
    ),
  );
  afterAll(() =>
    closeAll(
      () => server?.close(),
      () => redis?.close(),
    ),
  );

  async function through(configuration: string) {
    nginx = await NginxProcess.start(program!, configuration, [server!.listen]);
    user = await connectUser(nginx.listen);
    return { address: nginx.listen, user };
  }

  /** Sends SENT_BYTES in one session, or until the session is cut. */
  async function sendMuch({ hf, ended }: User): Promise<void> {
    const lease = await hf.lock('much', { ttl: '60s', wait: '60s' });
    for (let sent = 0; sent < SENT_BYTES && ended.length === 0; sent += METADATA_BYTES) {
      await lease.updateMetadata({ text: String(sent).padEnd(METADATA_BYTES, '.') });
    }
    expect(lease.loss).toBeUndefined();
    await lease.release();
  }

  it(
    'a session lives past 1 MiB and a silent stream past 60 s, with the documented configuration',
    async () => {
      if (program === undefined) return;
      const { address, user } = await through(documentedConfiguration());
      const silent = watch(address);
      try {
        await eventually('the first state', () => silent.isOpen());
        const start = performance.now();
        await sendMuch(user);
        await eventually('a minute of silence', () => performance.now() - start > SILENCE_MS, {
          timeoutMs: CUT_TIMEOUT_MS,
        });
        expect(silent.error()).toBeUndefined();
        expect(silent.isOpen()).toBe(true);
        expect(user.ended).toEqual([]);
        expect(user.started).toBe(1);
      } finally {
        silent.close();
      }
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'with the defaults of nginx, a session is cut at 1 MiB and a silent stream after 60 s, and no lease is lost',
    async () => {
      if (program === undefined) return;
      const { address, user } = await through(defaultConfiguration());
      const silent = watch(address);
      try {
        await eventually('the first state', () => silent.isOpen());
        await sendMuch(user);
        await eventually('the cut of the session', () => user.ended.length > 0);
        await eventually('the next session', () => user.started > 1);
        await eventually('the cut of the silent stream', () => silent.error(), { timeoutMs: CUT_TIMEOUT_MS });
      } finally {
        silent.close();
      }
    },
    TEST_TIMEOUT_MS,
  );
});
