import { credentials, type ServiceError } from '@grpc/grpc-js';
import { connect, type Holdfast } from '../../clients/typescript';
import { LockServiceClient } from '../../generated/typescript/holdfast/v1/lock_service';
import { closeAll, eventually } from '../support/eventually';
import { sayNotChecked } from '../support/not-checked';
import {
  defaultConfiguration,
  documentedConfiguration,
  findNginx,
  NginxProcess,
} from '../support/processes/nginx-process';
import { RedisProcess } from '../support/processes/redis-process';
import { ServerProcess } from '../support/processes/server-process';
import type { UnpackedProgram } from '../support/processes/child-program';

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
