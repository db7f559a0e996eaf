import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Certificates made by the program `openssl`, as docs/operations/security.md describes. */

export interface Issued {
  /** Paths of PEM files. */
  readonly cert: string;
  readonly key: string;
}

export interface Wanted {
  /** The alternative names, as in `openssl x509 -extfile`: `URI:spiffe://a/b,DNS:c`. */
  readonly names?: string;
  readonly commonName?: string;
  /** Lifetime. Negative: the certificate has ended. Default: 30. */
  readonly days?: number;
  /** Default: clientAuth and serverAuth. */
  readonly usage?: string;
}

function openssl(folder: string, ...args: string[]): void {
  try {
    execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  } catch (cause) {
    const { code, stderr } = cause as { code?: string; stderr?: Buffer };
    if (code === 'ENOENT') throw new Error('the tests need the program openssl: apt-get install openssl');
    throw new Error(`openssl ${args.join(' ')}: ${String(stderr)}`, { cause });
  }
}

/** Copies a file to a path. No reader of the path sees a part of the file. */
export function replaceFile(path: string, source: string): void {
  copyFileSync(source, `${path}.new`);
  renameSync(`${path}.new`, path);
}

/** Replaces both files at once, as far as two files can be replaced at once. */
export function replacePair(used: Issued, issued: Issued): void {
  replaceFile(used.cert, issued.cert);
  replaceFile(used.key, issued.key);
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

/** A certificate authority in a folder. */
export class Authority {
  readonly cert: string;
  private readonly key: string;
  private count = 0;

  constructor(
    private readonly folder: string,
    private readonly name = 'authority',
  ) {
    this.cert = join(folder, `${name}.pem`);
    this.key = join(folder, `${name}.key`);
    const subject = ['-subj', `/CN=${name}`, '-days', '3650'];
    openssl(folder, 'req', '-x509', ...NEW_KEY, ...subject, '-keyout', this.key, '-out', this.cert);
  }

  get pem(): Buffer {
    return readFileSync(this.cert);
  }

  issue({ names, commonName = 'somebody', days = 30, usage = 'clientAuth,serverAuth' }: Wanted = {}): Issued {
    const base = join(this.folder, `${this.name}-${(this.count += 1)}`);
    const [cert, key, request, extensions] = ['pem', 'key', 'csr', 'ext'].map((end) => `${base}.${end}`) as [
      string,
      string,
      string,
      string,
    ];
    openssl(this.folder, 'req', ...NEW_KEY, '-subj', `/CN=${commonName}`, '-keyout', key, '-out', request);
    writeFileSync(
      extensions,
      `extendedKeyUsage=${usage}\n${names === undefined ? '' : `subjectAltName=${names}\n`}`,
    );
    const ca = ['-CA', this.cert, '-CAkey', this.key, '-CAcreateserial'];
    const lifetime = ['-days', String(days), '-extfile', extensions];
    openssl(this.folder, 'x509', '-req', '-in', request, ...ca, ...lifetime, '-out', cert);
    if (!existsSync(cert)) throw new Error(`openssl made no ${cert}`);
    return { cert, key };
  }

  /** A certificate for a server on 127.0.0.1. */
  issueForServer(wanted: Wanted = {}): Issued {
    return this.issue({ names: 'IP:127.0.0.1,DNS:localhost', ...wanted });
  }
}
