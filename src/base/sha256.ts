import crypto from 'node:crypto';

/** The SHA-256 of a text in hexadecimal. */
export const sha256: (text: string) => string =
  // Node 20.12 and later have this function, which takes half the time of a hash object.
  typeof crypto.hash === 'function'
    ? (text) => crypto.hash('sha256', text, 'hex')
    : (text) => crypto.createHash('sha256').update(text).digest('hex');
