import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { resolve } from 'node:path';

/** The certificate of a server, as a client sees it. */
export interface ServerCertificate {
  readonly leaf: X509Certificate;
  /** The path of a file with the authority of the certificate. Undefined: the authority is not in the server's file. */
  readonly ownAuthority: string | undefined;
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----/gs;

/** Reads the file with the certificate chain of a server that listens, so the file is known to be right. */
export function readServerCertificate(file: string): ServerCertificate {
  const text = readFileSync(file, 'utf8');
  const chain = (text.match(CERTIFICATE) ?? []).map((pem) => new X509Certificate(pem));
  return {
    leaf: new X509Certificate(text),
    ownAuthority: chain.some(isSelfSigned) ? resolve(file) : undefined,
  };
}

/** A client can trust only a certificate that has signed itself. */
function isSelfSigned(certificate: X509Certificate): boolean {
  return certificate.checkIssued(certificate) && certificate.verify(certificate.publicKey);
}

/** The flags with which `holdfast` calls the address by TLS. */
export function clientFlags({ leaf, ownAuthority }: ServerCertificate, address: string): string[] {
  const host = address.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
  const [, otherName] = /(?:^|, )DNS:([^*",\s]+)/.exec(leaf.subjectAltName ?? '') ?? [];
  const isNamed = (isIP(host) === 0 ? leaf.checkHost(host) : leaf.checkIP(host)) !== undefined;
  return [
    ...(ownAuthority === undefined ? ['--tls'] : ['--ca', ownAuthority]),
    ...(isNamed || otherName === undefined ? [] : ['--server-name', otherName]),
  ];
}

/** The word in quotes, if a shell would change the word without quotes. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
