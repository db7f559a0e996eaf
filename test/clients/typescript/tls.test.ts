import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { channelCredentials, type TlsOptions } from '../../../clients/typescript/connection/tls';
import { Authority, type Issued } from '../../support/certificates';
import { scratchFolder } from '../../support/scratch-folder';

let folder: string;
let wrong: string;
let issued: Issued;

beforeAll(() => {
  folder = scratchFolder();
  wrong = join(folder, 'wrong.pem');
  writeFileSync(wrong, 'neither a certificate nor a key');
  issued = new Authority(folder).issueForServer();
});

const read = (tls: TlsOptions) => () => channelCredentials(tls);

test('a certificate and its key are read', () => {
  expect(read({ ca: issued.cert, cert: issued.cert, key: issued.key })).not.toThrow();
});

test('bytes of any kind are read', () => {
  const [ca, cert, key] = [issued.cert, issued.cert, issued.key].map((path) =>
    Uint8Array.from(readFileSync(path)),
  );
  expect(read({ ca, cert, key })).not.toThrow();
});

test('the error names the file that has no certificate or no key', () => {
  const { cert, key } = issued;
  expect(read({ ca: wrong })).toThrow(`${wrong} has no certificate in PEM`);
  expect(read({ cert: wrong, key })).toThrow(`${wrong} has no certificate in PEM`);
  expect(read({ cert, key: wrong })).toThrow(`${wrong} has no private key in PEM`);
  expect(read({ cert, key: join(folder, 'none.key') })).toThrow('none.key');
});

test('the error does not show a key that was given as a text', () => {
  const key = '-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n';
  expect(read({ cert: issued.cert, key })).toThrow('the given text has no private key in PEM');
  // A secret of Kubernetes is in base64, and looks like a long path.
  const encoded = Buffer.from(key.repeat(5)).toString('base64');
  expect(read({ cert: issued.cert, key: encoded })).toThrow(
    'the given text is no PEM, and no file (ENAMETOOLONG)',
  );
});
