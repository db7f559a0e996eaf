import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect as connectTcp, createServer } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls, type SecureVersion, type TLSSocket } from 'node:tls';
import { type ChannelCredentials, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { HealthClient } from '../../generated/typescript/grpc/health/v1/health';
import { LockServiceClient } from '../../generated/typescript/holdfast/v1/lock_service';
import {
  ListCallersRequest,
  ServerServiceClient,
} from '../../generated/typescript/holdfast/v1/server_service';
import { tokenDigest } from '../../src/access/credentials';
import { Authority, type Issued, type Wanted } from '../support/certificates';
import { eventually } from '../support/eventually';
import { LeapingClock } from '../support/manual-clock';
import { scratchFolder } from '../support/scratch-folder';
import { openEveryStream } from './every-stream';
import { someLease } from './fake-engines';
import { acquireRequest, call, failureOf, Harness, type Logged, RELOAD_MS } from './harness';

const DAY_MS = 86_400_000;

describe('client certificates', () => {
  let folder: string;
  let servers: Authority;
  let clients: Authority;
  let others: Authority;
  let harness: Harness;
  let clientCa: string;
  let identities: string[];
  const clock = new LeapingClock();

  beforeAll(async () => {
    folder = scratchFolder();
    [servers, clients, others] = ['servers', 'clients', 'others'].map(
      (name) => new Authority(folder, name),
    ) as [Authority, Authority, Authority];
    const { cert, key } = servers.issueForServer();
    clientCa = join(folder, 'client-ca.pem');
    writeFileSync(clientCa, clients.pem);
    writeFileSync(join(folder, 'tokens'), `alice sha256:${tokenDigest('good-token')}\n`);
    harness = await Harness.start({
      accessClock: clock,
      access: {
        intervalMs: RELOAD_MS,
        tls: {
          certificate: { setting: 'HOLDFAST_TLS_CERT', path: cert },
          key: { setting: 'HOLDFAST_TLS_KEY', path: key },
          clientAuthority: { setting: 'HOLDFAST_TLS_CLIENT_CA', path: clientCa },
        },
        tokens: { setting: 'HOLDFAST_AUTH_TOKENS', path: join(folder, 'tokens') },
      },
    });
  });
  beforeEach(() => {
    identities = [];
    harness.permits.reset();
    harness.permits.answers.acquire = ({ identity }) => {
      identities.push(identity);
      return Promise.resolve(someLease);
    };
  });
  afterAll(() => harness.close());

  function channel(issued?: Issued): ChannelCredentials {
    if (issued === undefined) return credentials.createSsl(servers.pem);
    return credentials.createSsl(servers.pem, readFileSync(issued.key), readFileSync(issued.cert));
  }

  const withToken = (token: string): { metadata: Metadata } => {
    const metadata = new Metadata();
    metadata.set('authorization', `Bearer ${token}`);
    return { metadata };
  };

  async function acquire(
    issued?: Issued,
    options: { metadata?: Metadata } = {},
  ): Promise<string | undefined> {
    const client = harness.client(LockServiceClient, channel(issued));
    await call(client, client.acquireLock, acquireRequest(), { ...options, deadline: Date.now() + 30_000 });
    client.close();
    return identities.at(-1);
  }

  const SPIFFE: Wanted = { names: 'URI:spiffe://example.org/worker' };

  test('a client certificate proves its caller', async () => {
    expect(await acquire(clients.issue(SPIFFE))).toBe('spiffe://example.org/worker');
    expect(await acquire(clients.issue({ names: 'DNS:worker.example', commonName: 'admin' }))).toBe(
      'dns:worker.example',
    );
  });

  test('a call without a certificate ends with NO_CREDENTIAL, and health answers without a certificate', async () => {
    const error = await failureOf(acquire());
    expect(error.code).toBe(status.UNAUTHENTICATED);
    expect(error.details).toContain('or connect with a client certificate [NO_CREDENTIAL]');
    const health = harness.client(HealthClient, channel());
    expect(await call(health, health.check, { service: '' })).toEqual({ status: 1 });
  });

  test.each<[string, () => Issued, string]>([
    ['of another authority', () => others.issue(SPIFFE), 'is not accepted'],
    ['that has expired', () => clients.issue({ ...SPIFFE, days: -1 }), 'has expired'],
    ['for servers only', () => clients.issue({ ...SPIFFE, usage: 'serverAuth' }), 'is not accepted'],
    ['with only a common name', () => clients.issue({ commonName: 'worker.example' }), 'is not accepted'],
    ['with only an address', () => clients.issue({ names: 'IP:127.0.0.1' }), 'is not accepted'],
  ])('a certificate %s is BAD_CREDENTIAL, with or without a good token', async (_title, issue, message) => {
    const issued = issue();
    for (const options of [{}, withToken('good-token')]) {
      const error = await failureOf(acquire(issued, options));
      expect(error.code).toBe(status.UNAUTHENTICATED);
      expect(error.details).toContain(message);
      expect(error.details).toContain('[BAD_CREDENTIAL]');
    }
    expect(identities).toEqual([]);
  });

  /** Passes bytes to the server, and changes one byte of a message of the TLS handshake. */
  async function handshakeWith(issued: Issued, forge: (records: Buffer) => void): Promise<string> {
    const port = Number(harness.target.split(':')[1]);
    const forger = createServer((client) => {
      const server = connectTcp(port, '127.0.0.1');
      for (const socket of [client, server]) socket.on('error', () => undefined);
      client.on('data', (records) => {
        forge(records);
        server.write(records);
      });
      client.on('close', () => server.destroy());
      server.on('close', () => client.destroy()).pipe(client);
    });
    await once(forger.listen(0, '127.0.0.1'), 'listening');
    // The handshake of TLS 1.2 is not encrypted.
    const socket = connectTls({
      port: (forger.address() as AddressInfo).port,
      host: '127.0.0.1',
      ca: servers.pem,
      maxVersion: 'TLSv1.2',
      ALPNProtocols: ['h2'],
      cert: readFileSync(issued.cert),
      key: readFileSync(issued.key),
    });
    const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException];
    forger.close();
    return error.code ?? '';
  }

  /** Changes the signature that proves the key of the certificate: the message CertificateVerify. */
  function forgeProof(records: Buffer): void {
    for (let start = 0; start + 5 < records.length;) {
      const end = start + 5 + records.readUInt16BE(start + 3);
      const [type, message] = [records[start], records[start + 5]];
      if (type === 22 && message === 15) records[end - 2]! ^= 1;
      start = end;
    }
  }

  /** Changes the signature of the authority, at the end of the certificate. */
  const forgeSignature = (issued: Issued) => {
    const { raw } = new X509Certificate(readFileSync(issued.cert));
    return (records: Buffer): void => {
      const start = records.indexOf(raw);
      if (start >= 0) records[start + raw.length - 3]! ^= 1;
    };
  };

  test.each<[string, (issued: Issued) => (records: Buffer) => void]>([
    ['signature by the authority', forgeSignature],
    ['proof of its key', () => forgeProof],
  ])(
    'a client certificate with a forged %s has a line with the address, and counts for it',
    async (_title, forge) => {
      const issued = clients.issue(SPIFFE);
      const isLine = ({ message, fields }: Logged): boolean =>
        message === 'refused a credential' && !('method' in fields);
      harness.logged.splice(0);
      // The lines of the second before may be the last ones of this address.
      const line = await eventually('a line of the log', async () => {
        expect(await handshakeWith(issued, forge(issued))).toBe('ERR_SSL_TLSV1_ALERT_DECRYPT_ERROR');
        return harness.logged.find(isLine);
      });
      expect(line.fields).toEqual({
        reason: 'BAD_CREDENTIAL',
        detail: expect.stringMatching(
          /^the TLS handshake with the client certificate failed: ERR_/,
        ) as string,
        peer: expect.stringMatching(/^127\.0\.0\.1:\d+$/) as string,
      });
      const client = harness.client(ServerServiceClient, channel());
      const { callers } = await call(
        client,
        client.listCallers,
        ListCallersRequest.create(),
        withToken('good-token'),
      );
      const unknown = callers.find(({ identity }) => identity === '');
      expect(unknown).toMatchObject({ address: '127.0.0.1' });
      expect(unknown?.refusalCount).toBeGreaterThan(0n);
    },
  );

  test('a good token names the caller, and a bad token is refused even with a good certificate', async () => {
    const good = clients.issue(SPIFFE);
    expect(await acquire(undefined, withToken('good-token'))).toBe('token:alice');
    expect(await acquire(good, withToken('good-token'))).toBe('token:alice');
    const error = await failureOf(acquire(good, withToken('bad-token')));
    expect(error.details).toContain('[BAD_CREDENTIAL]');
  });

  test.each<[string, { metadata?: Metadata }]>([
    ['a caller', {}],
    ['a caller that also has a good token', withToken('good-token')],
  ])(
    'every stream of %s ends UNAUTHENTICATED when the certificate ends',
    async (_title, { metadata = new Metadata() }) => {
      const client = harness.client(LockServiceClient, channel(clients.issue({ ...SPIFFE, days: 1 })));
      const { ends } = await openEveryStream(harness, { client, metadata });
      clock.leap(DAY_MS);
      for (const { path, error } of await ends) {
        expect([path, error.code]).toEqual([path, status.UNAUTHENTICATED]);
        expect(error.details).toContain('the credential of this call has ended');
      }
      // The connection is retired. On a new connection the certificate is good again: the time of day did not leap.
      await eventually('a new connection', () =>
        call(client, client.acquireLock, acquireRequest(), { metadata }).then(
          () => true,
          (failure: ServiceError) => {
            expect(failure.details).toContain('has expired');
            return false;
          },
        ),
      );
    },
  );

  test.each<SecureVersion>(['TLSv1.2', 'TLSv1.3'])(
    'a session of %s is not resumed, because a resumption would skip the check of the certificate',
    async (maxVersion) => {
      const { cert, key } = clients.issue(SPIFFE);
      const [host, port] = harness.target.split(':');
      const open = async (session?: Buffer): Promise<TLSSocket> => {
        const socket = connectTls({
          ...{ host, port: Number(port), ca: servers.pem, cert: readFileSync(cert), key: readFileSync(key) },
          ALPNProtocols: ['h2'],
          maxVersion,
          ...(session && { session }),
        });
        socket.on('error', () => undefined);
        await once(socket, 'secureConnect');
        return socket;
      };
      const first = await open();
      const session = await Promise.race([
        once(first, 'session').then(([bytes]) => bytes as Buffer),
        new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), 500)),
      ]);
      const second = await open(session ?? first.getSession());
      expect(second.isSessionReused()).toBe(false);
      first.destroy();
      second.destroy();
    },
  );

  test('a client with a refused certificate connects again, so that an authority that is added later counts', async () => {
    const client = harness.client(LockServiceClient, channel(others.issue(SPIFFE)));
    const ask = () => call(client, client.acquireLock, acquireRequest());
    expect((await failureOf(ask())).details).toContain('[BAD_CREDENTIAL]');
    writeFileSync(clientCa, Buffer.concat([clients.pem, others.pem]));
    await eventually('the new authority', () => ask().catch(() => undefined));
    writeFileSync(clientCa, clients.pem);
    await eventually('the end of the authority', () =>
      acquire(others.issue(SPIFFE)).then(
        () => false,
        () => true,
      ),
    );
  });

  test('another authority of clients is trusted without a restart, and open connections continue', async () => {
    const client = harness.client(LockServiceClient, channel(clients.issue(SPIFFE)));
    await call(client, client.acquireLock, acquireRequest());
    const newcomer = others.issue({ names: 'DNS:new.example' });
    writeFileSync(clientCa, Buffer.concat([clients.pem, others.pem]));
    await eventually('the new authority', () => acquire(newcomer).catch(() => undefined));
    expect(identities.at(-1)).toBe('dns:new.example');
    writeFileSync(clientCa, others.pem);
    const old = clients.issue(SPIFFE);
    await eventually('the end of the old authority', () =>
      acquire(old).then(
        () => false,
        () => true,
      ),
    );
    await call(client, client.acquireLock, acquireRequest());
    expect(identities.at(-1)).toBe('spiffe://example.org/worker');
    writeFileSync(clientCa, '');
    await eventually('a warning', () =>
      harness.logged.some(({ fields }) => String(fields['problem']).includes('CLIENT_CA')),
    );
    expect(await acquire(newcomer)).toBe('dns:new.example');
  });
});
