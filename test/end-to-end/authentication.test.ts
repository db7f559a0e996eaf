import { randomUUID, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import {
  type HoldLockResponse,
  LockServiceClient,
} from '../../generated/typescript/holdfast/v1/lock_service';
import { tokenDigest } from '../../src/access/credentials';
import { AUDIENCE, ISSUER, keySetText, sign, signingKey, type SigningKey } from '../access/issuer';
import { acquireRequest, call, failureOf } from '../contract/harness';
import { Authority, type Issued, replacePair } from '../support/certificates';
import { runProgram } from '../support/cli/run-program';
import { closeAll, eventually, eventuallyPasses } from '../support/eventually';
import { freePort } from '../support/processes/child-program';
import { RedisProcess, serverUrl, tlsArguments, tlsSettings } from '../support/processes/redis-process';
import { RecordedCommands } from '../support/redis-commands';
import { scratchFolder } from '../support/scratch-folder';
import { InProcessServer } from './in-process-server';

describe('authentication', () => {
  /** Every way in, in front of a real Redis. */

  let redis: RedisProcess;
  let server: InProcessServer;
  let tokens: string;
  let key: SigningKey;
  let authority: Authority;
  const closers: (() => void)[] = [];

  const line = (token: string, endsInMs?: number) =>
    `alice sha256:${tokenDigest(token)}${endsInMs === undefined ? '' : ` ${new Date(Date.now() + endsInMs).toISOString()}`}\n`;

  beforeAll(async () => {
    redis = await RedisProcess.start({ appendfsync: 'no' });
    const folder = scratchFolder();
    tokens = join(folder, 'tokens');
    writeFileSync(tokens, line('lasting'));
    key = await signingKey('k');
    writeFileSync(join(folder, 'keys'), await keySetText([key]));
    authority = new Authority(folder);
    const ofServer = authority.issueForServer();
    server = await InProcessServer.start(redis.url, {
      HOLDFAST_TLS_CERT: ofServer.cert,
      HOLDFAST_TLS_KEY: ofServer.key,
      HOLDFAST_TLS_CLIENT_CA: authority.cert,
      HOLDFAST_AUTH_TOKENS: tokens,
      HOLDFAST_AUTH_JWT_ISSUER: ISSUER,
      HOLDFAST_AUTH_JWT_AUDIENCE: AUDIENCE,
      HOLDFAST_AUTH_JWT_JWKS: join(folder, 'keys'),
    });
  });
  afterAll(async () => {
    for (const close of closers) close();
    await server.closeDespiteWarnings();
    await redis.close();
  });

  function connect(issued?: Issued): LockServiceClient {
    const own = issued && ([readFileSync(issued.key), readFileSync(issued.cert)] as const);
    const channel = credentials.createSsl(authority.pem, ...(own ?? []));
    const client = new LockServiceClient(server.address, channel, {
      'grpc.use_local_subchannel_pool': 1,
    });
    closers.push(() => client.close());
    return client;
  }

  function bearer(token: string): Metadata {
    const metadata = new Metadata();
    metadata.set('authorization', `Bearer ${token}`);
    return metadata;
  }

  test('refused calls cost no command of Redis', async () => {
    const commands = await RecordedCommands.start(redis);
    const client = connect();
    const acquire = (metadata: Metadata) =>
      call(client, client.acquireLock, acquireRequest({ name: 'refused' }), { metadata });
    for (let round = 0; round < 20; round += 1) {
      const error = await failureOf(acquire(round % 2 ? bearer('wrong') : new Metadata()));
      expect(error.code).toBe(status.UNAUTHENTICATED);
    }
    expect(await commands.countWith('refused')).toBe(0);
    await acquire(bearer('lasting'));
    expect(await commands.countWith('refused')).toBeGreaterThan(0);
    await commands.stop();
  });

  /** A caller with one credential. */
  interface Caller {
    readonly client: LockServiceClient;
    readonly metadata: Metadata;
  }

  const withToken = (token: string): Caller => ({ client: connect(), metadata: bearer(token) });
  const withCertificate = (issued: Issued): Caller => ({ client: connect(issued), metadata: new Metadata() });
  const WORKER = { names: 'URI:spiffe://example.org/worker' };
  /** How long a credential that ends is good (ms): long enough for a busy machine to open its calls. */
  const LIFE_MS = 7000;

  /** Two callers of one identity: the credential of the first ends soon. */
  const WAYS_IN: readonly (readonly [string, () => Promise<readonly [ending: Caller, lasting: Caller]>])[] = [
    [
      'a token of the token file',
      async () => {
        writeFileSync(tokens, line('lasting') + line('short', LIFE_MS));
        const ending = withToken('short');
        await eventually('the token', () => look(ending).catch(() => undefined));
        return [ending, withToken('lasting')];
      },
    ],
    [
      'a JSON web token',
      async () => {
        // A token is accepted for 30 s after its end.
        const ending = await sign(key, { endsIn: LIFE_MS / 1000 - 30 });
        return [withToken(ending), withToken(await sign(key))];
      },
    ],
    [
      'a client certificate',
      async () => {
        const ending = withCertificate(authority.issue({ ...WORKER, days: LIFE_MS / 86_400_000 }));
        await look(ending);
        return [ending, withCertificate(authority.issue(WORKER))];
      },
    ],
  ];

  async function look({ client, metadata }: Caller, name = 'x') {
    const { lock } = await call(client, client.getLock, { name }, { metadata });
    if (lock === undefined) throw new Error('the answer has no lock');
    return lock;
  }

  /** Acquires or attaches. Resolves to the lease_id after the grant, and to the error of the stream. */
  async function hold(
    { client, metadata }: Caller,
    start: NonNullable<Parameters<LockServiceClient['holdLock']>[0]['start']>,
  ) {
    const stream = client.holdLock({ start }, metadata);
    const ended = new Promise<ServiceError>((resolve) => stream.on('error', resolve));
    const [first] = (await once(stream, 'data')) as [HoldLockResponse];
    const event = first.holdEvent?.event;
    if (event?.$case !== 'granted') throw new Error(`expected a grant, got ${event?.$case}`);
    return { leaseId: event.value.lease?.leaseId ?? '', ended };
  }

  async function expectLeaseToOutlive(
    name: string,
    [ending, lasting]: readonly [Caller, Caller],
  ): Promise<void> {
    const ttl = { seconds: 60n, nanos: 0 };
    const value = acquireRequest({ name, ttl, requestId: randomUUID() });
    const { leaseId, ended } = await hold(ending, { $case: 'acquire', value });
    const { client, metadata } = ending;
    const waiting = acquireRequest({ name, waitTimeout: { seconds: 3600n, nanos: 0 } });
    const wait = failureOf(call(client, client.acquireLock, waiting, { metadata }));
    for (const error of [await ended, await wait]) {
      expect([error.code, error.details]).toEqual([
        status.UNAUTHENTICATED,
        expect.stringContaining('the credential of this call has ended'),
      ]);
    }
    const { holders } = await eventually('the end of the wait', async () => {
      const lock = await look(lasting, name);
      return lock.waiterCount === 0 && lock;
    });
    expect(holders).toMatchObject([{ revoked: false }]);
    // The new credential has the same identity.
    const attached = await hold(lasting, { $case: 'leaseId', value: leaseId });
    expect(attached.leaseId).toBe(leaseId);
    await call(lasting.client, lasting.client.releaseLock, { leaseId }, { metadata: lasting.metadata });
  }

  describe('a stream and a wait end, the lease lives on, and a new credential attaches to the lease,', () => {
    test.concurrent.each(WAYS_IN)('when %s ends', async (name, callers) =>
      expectLeaseToOutlive(name, await callers()),
    );
  });
});

describe('certificate ends', () => {
  /** The certificates of a server with TLS on both sides: in metrics, in the log, and for `holdfast status`. */

  let redis: RedisProcess;
  let server: InProcessServer;
  /** A server whose certificate has ended. */
  let old: InProcessServer;
  let statusOfOld: ReturnType<typeof runProgram>;
  let authority: Authority;
  let cert: string;
  let key: string;

  beforeAll(async () => {
    const folder = scratchFolder();
    authority = new Authority(folder);
    [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    use(authority.issueForServer({ days: 100 }));
    const port = await freePort();
    redis = await RedisProcess.start({ args: tlsArguments(port) });
    server = await InProcessServer.start(serverUrl(`127.0.0.1:${port}`).replace('redis:', 'rediss:'), {
      ...tlsSettings,
      HOLDFAST_ADMIN_LISTEN: '127.0.0.1:0',
      HOLDFAST_TLS_CERT: cert,
      HOLDFAST_TLS_KEY: key,
      HOLDFAST_TLS_CLIENT_CA: authority.cert,
    });
    const ended = authority.issueForServer({ days: -1 });
    old = await InProcessServer.start(redis.url, {
      HOLDFAST_TLS_CERT: ended.cert,
      HOLDFAST_TLS_KEY: ended.key,
    });
    // It tries for 5 s, beside the other tests.
    statusOfOld = runProgram(['status', '--ca', authority.cert, '--timeout', '5s', '-a', old.address]);
  });
  afterAll(() =>
    closeAll(
      () => server.closeDespiteWarnings(),
      () => old.closeDespiteWarnings(),
      () => redis.close(),
    ),
  );

  const use = (issued: Issued) => replacePair({ cert, key }, issued);

  /** The end of a certificate in seconds since 1970. */
  function endOf(path: string): number {
    return Date.parse(new X509Certificate(readFileSync(path)).validTo) / 1000;
  }

  async function ends(): Promise<Record<string, number>> {
    const text = await (await fetch(`http://${server.adminAddress}/metrics`)).text();
    const samples = text.matchAll(
      /^holdfast_certificate_end_timestamp_seconds\{certificate="(\S+)"\} (\S+)$/gm,
    );
    return Object.fromEntries([...samples].map(([, certificate, value]) => [certificate, Number(value)]));
  }

  test('the metrics have the end of each certificate in use, and that of a renewed one', async () => {
    const ofRedis = endOf(tlsSettings['HOLDFAST_REDIS_TLS_CA']!);
    const others = {
      'client-authority': endOf(authority.cert),
      'redis-authority': ofRedis,
      'redis-client': ofRedis,
    };
    expect(await ends()).toEqual({ server: endOf(cert), ...others });
    use(authority.issueForServer({ days: 200 }));
    const renewed = endOf(cert);
    await eventuallyPasses('the end of the renewed certificate', async () => {
      expect(await ends()).toEqual({ server: renewed, ...others });
    });
  });

  test('a metric shows that changed certificates could not be loaded, until the server has loaded the next ones', async () => {
    const failed = async (): Promise<string[]> => {
      const text = await (await fetch(`http://${server.adminAddress}/metrics`)).text();
      return text.match(/^holdfast_reload_failed\{.*$/gm) ?? [];
    };
    const shows = (value: number): Promise<void> =>
      eventuallyPasses(`the value ${value}`, async () => {
        expect(await failed()).toEqual([`holdfast_reload_failed{content="certificates"} ${value}`]);
      });
    await shows(0);
    // A certificate without its key.
    copyFileSync(authority.issueForServer({ days: 100 }).cert, cert);
    await shows(1);
    use(authority.issueForServer({ days: 100 }));
    await shows(0);
  });

  async function status(...args: string[]): Promise<string> {
    // The server asks for a client certificate, and answers GetServerInfo only with one.
    const { cert: own, key: ownKey } = authority.issue({ names: 'DNS:operator.example' });
    const { out, err, code } = await runProgram(
      [...['status', '--ca', authority.cert, '--cert', own, '--key', ownKey, '--timeout', '60s'], ...args],
      { env: { HOLDFAST_ADDRESS: server.address } },
    );
    expect({ err, code }).toEqual({ err: '', code: 0 });
    return out;
  }

  test('`holdfast status` shows the days that the certificate of the port has left', async () => {
    const out = await status();
    const end = new Date(endOf(cert) * 1000).toISOString();
    expect(out).toMatch(/^certificate +127\.0\.0\.1:\d+: \d+d(\d+h)? left, until /m);
    expect(out).toContain(`left, until ${end}`);
  });

  test('`holdfast status` shows the certificate of the port as json and jsonl', async () => {
    const end = endOf(cert) * 1000;
    /** The text with fixed values in place of the port, the end and the features of this build. */
    const plain = (text: string): string =>
      text
        .replace(server.address, 'ADDRESS')
        .replace(new Date(end).toISOString(), 'END')
        .replace(/("daysLeft": ?)(\d+)/, (_, name: string, days: string) => {
          expect(Number(days)).toBe(Math.floor((end - Date.now()) / 86_400_000));
          return `${name}DAYS`;
        })
        .replace(/"version": ?"[^"]+"/, '"version":"VERSION"')
        .replace(/"features": ?\[[^\]]*\]/, '"features":[]');
    expect(plain(await status('-o', 'json'))).toMatchInlineSnapshot(`
     "{
       "version":"VERSION",
       "minTtl": "0.100s",
       "maxTtl": "120s",
       "defaultTtl": "30s",
       "maxStreamAge": "3600s",
       "maxWaiterCount": 10000,
       "features":[],
       "storeState": "STORE_STATE_READY",
       "storeExecution": "STORE_EXECUTION_FUNCTIONS",
       "certificates": [
         {
           "address": "ADDRESS",
           "names": [
             "IP:127.0.0.1",
             "DNS:localhost"
           ],
           "endTime": "END",
           "daysLeft": DAYS
         }
       ]
     }
     "
    `);
    expect(plain(await status('-o', 'jsonl'))).toMatchInlineSnapshot(`
     "{"version":"VERSION","minTtl":"0.100s","maxTtl":"120s","defaultTtl":"30s","maxStreamAge":"3600s","maxWaiterCount":10000,"features":[],"storeState":"STORE_STATE_READY","storeExecution":"STORE_EXECUTION_FUNCTIONS","certificates":[{"address":"ADDRESS","names":["IP:127.0.0.1","DNS:localhost"],"endTime":"END","daysLeft":DAYS}]}
     "
    `);
  });

  test('`holdfast status` names an address without an answer beside the certificates of the others', async () => {
    const silent = `127.0.0.1:${await freePort()}`;
    const { certificates } = JSON.parse(await status('-o', 'json', '-a', `${server.address},${silent}`)) as {
      certificates: readonly object[];
    };
    expect(certificates).toEqual([
      expect.objectContaining({ address: server.address, names: ['IP:127.0.0.1', 'DNS:localhost'] }),
      { address: silent, error: expect.stringContaining('ECONNREFUSED') as unknown },
    ]);
  });

  test('`holdfast status` says that the certificate of the port has ended, and ends with 69', async () => {
    const { err, code } = await statusOfOld;
    expect(code).toBe(69);
    expect(err).toContain('certificate has expired');
    expect(old.warnings.map(({ msg }) => msg)).toContain('a certificate has ended');
  });
});
