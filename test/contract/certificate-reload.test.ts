import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:tls';
import { credentials } from '@grpc/grpc-js';
import { LockServiceClient } from '../../generated/typescript/holdfast/v1/lock_service';
import { Authority, type Issued, replacePair } from '../support/certificates';
import { eventually } from '../support/eventually';
import { scratchFolder } from '../support/scratch-folder';
import { acquireRequest, call, Harness, RELOAD_MS } from './harness';

/** The server's own certificate changes while clients connect. */

let folder: string;
let authority: Authority;
let cert: string;
let key: string;
let harness: Harness;

const files = () => ({
  certificate: { setting: 'HOLDFAST_TLS_CERT', path: cert },
  key: { setting: 'HOLDFAST_TLS_KEY', path: key },
});

beforeAll(() => {
  folder = scratchFolder();
  authority = new Authority(folder);
  [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
});
beforeEach(async () => {
  use(authority.issueForServer());
  harness = await Harness.start({ access: { tls: files(), intervalMs: RELOAD_MS } });
});
afterEach(() => harness.close());

const use = (issued: Issued) => replacePair({ cert, key }, issued);

/** The serial number of the certificate that a new connection gets. */
async function serial(): Promise<string> {
  const [host, port] = harness.target.split(':');
  const socket = connect({
    host,
    port: Number(port),
    ca: authority.pem,
    ALPNProtocols: ['h2'],
    servername: 'localhost',
  });
  try {
    await once(socket, 'secureConnect');
    return socket.getPeerCertificate().serialNumber;
  } finally {
    socket.destroy();
  }
}

async function callOnNewConnection(): Promise<void> {
  const client = harness.client(LockServiceClient, credentials.createSsl(authority.pem));
  try {
    await call(client, client.acquireLock, acquireRequest(), { deadline: Date.now() + 30_000 });
  } finally {
    client.close();
  }
}

const warned = (text: string): boolean =>
  harness.logged.some(({ level, fields }) => level === 'warn' && String(fields['problem']).includes(text));

test('rotations under load fail no connection, and open connections continue', async () => {
  const lasting = harness.client(LockServiceClient, credentials.createSsl(authority.pem));
  await call(lasting, lasting.acquireLock, acquireRequest());
  let isDone = false;
  let connectionCount = 0;
  const load = Array.from({ length: 4 }, async () => {
    while (!isDone) {
      await callOnNewConnection();
      connectionCount += 1;
    }
  });
  const loaded = Promise.all(load);
  loaded.catch(() => undefined);
  const serials = new Set<string>([await serial()]);
  try {
    for (let rotation = 0; rotation < 3; rotation += 1) {
      use(authority.issueForServer());
      await eventually('the next certificate', async () => !serials.has(await serial()));
      serials.add(await serial());
    }
  } finally {
    isDone = true;
  }
  await loaded;
  expect(connectionCount).toBeGreaterThan(10);
  expect(serials.size).toBe(4);
  await call(lasting, lasting.acquireLock, acquireRequest());
});

test.each<[string, () => void, string]>([
  [
    'the key does not match',
    () => writeFileSync(key, readFileSync(authority.issueForServer().key)),
    'key values mismatch',
  ],
  ['the certificate is missing', () => rmSync(cert), 'HOLDFAST_TLS_CERT cannot be read'],
  ['the key is missing', () => rmSync(key), 'HOLDFAST_TLS_KEY cannot be read'],
  ['the certificate is half written', () => halve(cert), 'cut off or damaged'],
  ['the key is half written', () => halve(key), 'HOLDFAST_TLS_CERT and HOLDFAST_TLS_KEY cannot be used'],
  ['the certificate is empty', () => writeFileSync(cert, ''), 'no certificate in PEM form'],
])('new connections get the last good certificate while %s', async (_title, damage, problem) => {
  const before = await serial();
  damage();
  await eventually('a warning', () => warned(problem));
  for (let count = 0; count < 5; count += 1) await callOnNewConnection();
  expect(await serial()).toBe(before);
  // The same problem is logged once, and the files are read again meanwhile.
  await sleep(4 * RELOAD_MS);
  expect(harness.logged.filter(({ level }) => level === 'warn')).toHaveLength(1);
  use(authority.issueForServer());
  await eventually('the next certificate', async () => (await serial()) !== before);
});

function halve(path: string): void {
  const whole = readFileSync(path);
  writeFileSync(path, whole.subarray(0, whole.length / 2));
}

test('a chain is refused if its last certificate is cut off', async () => {
  const before = await serial();
  const next = authority.issueForServer();
  writeFileSync(key, readFileSync(next.key));
  writeFileSync(cert, Buffer.concat([readFileSync(next.cert), authority.pem.subarray(0, 100)]));
  await eventually('a warning', () => warned('cut off or damaged'));
  expect(await serial()).toBe(before);
});

test('an expired certificate does not replace a valid certificate', async () => {
  const before = await serial();
  use(authority.issueForServer({ days: -1 }));
  await eventually('a warning', () => warned('the certificate has ended'));
  expect(await serial()).toBe(before);
  await callOnNewConnection();
});
