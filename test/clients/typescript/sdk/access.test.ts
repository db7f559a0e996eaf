import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  connect,
  CredentialError,
  UnavailableError,
  type ConnectOptions,
} from '../../../../clients/typescript';
import { LockServiceService } from '../../../../generated/typescript/holdfast/v1/lock_service';
import { tokenDigest } from '../../../../src/access/credentials';
import { InProcessServer } from '../../../end-to-end/in-process-server';
import { Authority } from '../../../support/certificates';
import { closeAll, eventually } from '../../../support/eventually';
import { RedisProcess } from '../../../support/processes/redis-process';
import { scratchFolder } from '../../../support/scratch-folder';

let redis: RedisProcess;
let server: InProcessServer;
let folder: string;
let authority: Authority;

beforeAll(async () => {
  redis = await RedisProcess.start({ appendfsync: 'no' });
  folder = scratchFolder();
  writeFileSync(join(folder, 'tokens'), `alice sha256:${tokenDigest('right')}\n`);
  authority = new Authority(folder);
  const ofServer = authority.issueForServer();
  server = await InProcessServer.start(redis.url, {
    HOLDFAST_TLS_CERT: ofServer.cert,
    HOLDFAST_TLS_KEY: ofServer.key,
    HOLDFAST_TLS_CLIENT_CA: authority.cert,
    HOLDFAST_AUTH_TOKENS: join(folder, 'tokens'),
  });
});
afterAll(() =>
  closeAll(
    () => server?.closeDespiteWarnings(),
    () => redis?.close(),
  ),
);

const open = (options: ConnectOptions) => connect(server.address, { timeout: '20s', ...options });

test('a token and the authority of the servers are enough for locks and calls', async () => {
  const hf = await open({ tls: { ca: authority.cert }, token: 'right' });
  expect(await hf.withLock('by token', (lease) => lease.permitCount)).toBe(1);
  expect((await hf.serverInfo()).features).toContain('SESSIONS');
  await hf.close();
});

test('a PEM text is no path', async () => {
  const hf = await open({ tls: { ca: authority.pem.toString() }, token: 'right\n' });
  await hf.close();
});

test('a client certificate proves the identity, and others see the identity', async () => {
  const { cert, key } = authority.issue({ names: 'URI:spiffe://example/worker' });
  const hf = await open({ tls: { ca: authority.pem, cert, key } });
  const lease = await hf.lock('by certificate');
  const { lock } = await hf.call(LockServiceService.getLock, { name: 'by certificate' });
  expect(lock?.holders[0]?.identity).toBe('spiffe://example/worker');
  await lease.release();
  await hf.close();
});

test('a refused token is fetched once more, and then connect rejects with a CredentialError', async () => {
  let count = 0;
  const token = () => `wrong ${++count}`;
  await expect(open({ tls: { ca: authority.cert }, token })).rejects.toThrow(CredentialError);
  expect(count).toBe(2);
});

test('a token file is read again, so a replaced token needs no restart', async () => {
  const file = join(folder, 'token');
  writeFileSync(file, 'wrong\n');
  const connecting = open({ tls: { ca: authority.cert }, token: { file } });
  writeFileSync(join(folder, 'next'), 'right\n');
  renameSync(join(folder, 'next'), file);
  const hf = await connecting;
  await hf.close();
});

test('a callback that fails is asked again until the connection times out', async () => {
  let count = 0;
  const token = () => {
    count += 1;
    throw new Error('the vault is sealed');
  };
  const failing = open({ tls: { ca: authority.cert }, token, timeout: 500 });
  const error: unknown = await failing.catch((e: unknown) => e);
  expect(error).toBeInstanceOf(CredentialError);
  expect((error as Error).message).toContain('the vault is sealed');
  expect(count).toBeGreaterThan(1);
});

test('a certificate file that is missing is named, and tried again', async () => {
  const ca = join(folder, 'late.pem');
  const early: unknown = await open({ tls: { ca }, token: 'right', timeout: 200 }).catch((e: unknown) => e);
  expect((early as Error).message).toContain('late.pem');
  const connecting = open({ tls: { ca }, token: 'right' });
  writeFileSync(ca, authority.pem);
  const hf = await connecting;
  await eventually('a lock', async () => (await hf.tryLock('late')) !== undefined);
  await hf.close();
});

test('a server with a certificate of another authority is refused', async () => {
  const other = new Authority(folder, 'other');
  const failing = open({ tls: { ca: other.cert }, token: 'right', timeout: 500 });
  await expect(failing).rejects.toThrow(UnavailableError);
});
