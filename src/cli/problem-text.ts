import { HoldfastError } from '../../clients/typescript';
import { escapeText } from '../base/escape-text';
import { inWordsOfFlags } from './words-of-flags';

/** The words of gRPC around the error of the operating system. */
const NO_CONNECTION =
  /No connection established\. Last error: (?:\w*Error(?: \[\w+\])?: )?(.*?)[.\s]*Resolution note: ?/s;
/** An error of OpenSSL: numbers, the place in its sources, and the reason between colons. */
const OPEN_SSL = /[0-9A-F]+:error:[0-9A-F]+:[^:]*:[^:]*:([^:]+):\S*/;
/** grpc-js says no more if a server ends a new connection without a word, as a server with TLS does. */
const ENDED_AT_ONCE = /Failed to connect \([\dTZ:.-]+\)/;
/** The time in this text is that of the last attempt alone. The address is known after a connection only. */
const LATE = /Deadline exceeded after [\d.]+s(?:.*remote_addr=([^,\s]+))?.*/s;
/** The answer of a server without TLS is no TLS record. */
const NO_TLS = /wrong version number|packet length too long/;

/** The message of an error on one line, without the inner details of gRPC and OpenSSL. */
export function problemText(error: Error): string {
  const text = (error instanceof HoldfastError ? inWordsOfFlags(error.message) : error.message)
    .replace(NO_CONNECTION, '$1')
    .replace(OPEN_SSL, 'TLS: $1')
    .replace(LATE, (_, address?: string) => `${address ?? 'the server'} is silent`)
    .replace(ENDED_AT_ONCE, 'the connection ended before an answer (does the server want TLS?)')
    .trimEnd();
  return escapeText(NO_TLS.test(text) ? `${text} (does the server have TLS?)` : text);
}
