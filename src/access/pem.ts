import { X509Certificate } from 'node:crypto';

const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----[^-]*-----END \1-----/g;

/**
 * Reads all certificates of a PEM file. OpenSSL ignores what it cannot read, so a half-written file must be noticed
 * here. Throws if a part of the file is damaged or cut off.
 */
export function readCertificates(pem: Buffer): readonly X509Certificate[] {
  const text = pem.toString('latin1');
  const blocks = [...text.matchAll(BLOCK)];
  if (text.replace(BLOCK, '').includes('-----')) throw new Error('a part of the file is cut off or damaged');
  const certificates = blocks.filter(([, kind]) => kind === 'CERTIFICATE');
  if (certificates.length === 0) throw new Error('the file has no certificate in PEM form');
  return certificates.map(([block]) => new X509Certificate(block));
}
