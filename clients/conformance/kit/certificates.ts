import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Authority, type Issued } from '../../../test/support/certificates';
import type { ServerTls } from '../server/scripted-server';
import type { Case } from './case-file';

interface Certificates {
  readonly authority: Authority;
  readonly server: Issued;
  readonly client: Issued;
}

let made: Certificates | undefined;

/** One authority for all cases, because `openssl` blocks the servers of the cases that run meanwhile. */
function certificates(): Certificates {
  if (made) return made;
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-certificates-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const authority = new Authority(folder);
  made = { authority, server: authority.issueForServer(), client: authority.issue({ commonName: 'driver' }) };
  return made;
}

/** Call before the first case runs. */
export function prepareCertificates(cases: readonly Case[]): void {
  const wantTls = cases.some(({ servers }) =>
    [...servers.values()].some((one) => one?.['tls'] !== undefined),
  );
  if (wantTls) certificates();
}

/** Puts the files that README.md promises into the folder of a case. `clients`: clients need a certificate. */
export function serverTls(folder: string, clients: boolean): ServerTls {
  const { authority, server, client } = certificates();
  copyFileSync(authority.cert, join(folder, 'ca.pem'));
  copyFileSync(client.cert, join(folder, 'client.pem'));
  copyFileSync(client.key, join(folder, 'client.key'));
  return { ca: authority.cert, ...server, clients };
}
