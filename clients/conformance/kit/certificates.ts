import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Authority, replaceFile, type Issued } from '../../../test/support/certificates';
import type { TlsFiles } from '../server/tls-credentials';
import type { Case } from './case-file';
import type { CertificateKind } from './certificate-kinds';

interface Certificates {
  /** The path of the authority's certificate. */
  readonly ca: string;
  readonly server: Issued;
  readonly client: Issued;
}

let made: Readonly<Record<CertificateKind, Certificates>> | undefined;

/** One authority of each kind for all cases, because `openssl` blocks the servers of the cases that run meanwhile. */
function certificates(kind: CertificateKind): Certificates {
  if (made) return made[kind];
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-certificates-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const first = new Authority(folder);
  const second = new Authority(folder, 'renewed');
  made = { valid: issuedBy(first), ended: issuedBy(first, -1), renewed: issuedBy(second) };
  return made[kind];
}

function issuedBy(authority: Authority, days = 30): Certificates {
  const names = 'URI:spiffe://example.org/driver';
  return {
    ca: authority.cert,
    server: authority.issueForServer({ days, names: 'IP:127.0.0.1,DNS:localhost,DNS:servers.test' }),
    client: authority.issue({ commonName: 'driver', names, days }),
  };
}

/** Call before the first case runs. */
export function prepareCertificates(cases: readonly Case[]): void {
  const wantTls = cases.some(({ servers }) =>
    [...servers.values()].some((one) => one?.['tls'] !== undefined),
  );
  if (wantTls) certificates('valid');
}

export function serverFiles(kind: CertificateKind): TlsFiles {
  const { ca, server } = certificates(kind);
  return { ca, ...server };
}

/** Puts the files that README.md promises into the folder of a case. No reader sees a part of a file. */
export function writeClientFiles(folder: string, kind: CertificateKind): void {
  const { ca, client } = certificates(kind);
  for (const [from, name] of [
    [ca, 'ca.pem'],
    [client.cert, 'client.pem'],
    [client.key, 'client.key'],
  ] as const) {
    replaceFile(join(folder, name), from);
  }
}
