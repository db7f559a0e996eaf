import { isAbsolute } from 'node:path';
import { z } from 'zod';

/** Schemas for the values of environment variables. Each failure message says which value is expected. */

/** Converts the text with `read`. If `read` returns undefined, the message is `must be ${expected}`. */
export function parsed<T>(expected: string, read: (text: string) => T | undefined): z.ZodType<T, string> {
  return z.string().transform((text, context) => {
    const value = read(text);
    if (value !== undefined) return value;
    context.addIssue({ code: 'custom', message: `must be ${expected}` });
    return z.NEVER;
  });
}

const MS_OF_UNIT: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

export function readDuration(text: string): number | undefined {
  const [, amount, unit] = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text) ?? [];
  const size = MS_OF_UNIT[unit ?? ''];
  return size === undefined ? undefined : Number(amount) * size;
}

/** A duration in milliseconds. The bounds are written as durations, such as 500ms. */
function duration(from: string, to: string): z.ZodType<number, string> {
  const [min, max] = [readDuration(from) ?? NaN, readDuration(to) ?? NaN];
  return parsed(`a duration from ${from} to ${to}, such as 500ms, 30s, 2m or 1h`, (text) => {
    const ms = readDuration(text);
    return ms !== undefined && ms >= min && ms <= max ? ms : undefined;
  });
}

/** A duration in milliseconds, or undefined for `off`. */
export function durationOrOff(from: string, to: string): z.ZodType<number | undefined, string> {
  const span = duration(from, to);
  const expected = `off, or a duration from ${from} to ${to}, such as 12h or 30d`;
  return parsed(expected, (text) => (text === 'off' ? text : span.safeParse(text).data)).transform((value) =>
    value === 'off' ? undefined : value,
  );
}

const BYTES_OF_UNIT: Readonly<Record<string, number>> = { KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

function readByteCount(text: string): number | undefined {
  const [, amount, unit] = /^(\d{1,9})(KiB|MiB|GiB)$/.exec(text) ?? [];
  const size = BYTES_OF_UNIT[unit ?? ''];
  return size === undefined ? undefined : Number(amount) * size;
}

/** A number of bytes, or undefined for `auto`. The bounds are written as in the setting, such as 64MiB. */
export function byteCountOrAuto(from: string, to: string): z.ZodType<number | undefined, string> {
  const [min, max] = [readByteCount(from) ?? NaN, readByteCount(to) ?? NaN];
  const expected = `auto, or a whole number of KiB, MiB or GiB from ${from} to ${to}, such as 512MiB`;
  return parsed(expected, (text) => {
    if (text === 'auto') return text;
    const bytes = readByteCount(text);
    return bytes !== undefined && bytes >= min && bytes <= max ? bytes : undefined;
  }).transform((value) => (value === 'auto' ? undefined : value));
}

/** Names separated by commas. A comma in a name is percent-encoded. */
export function names(): z.ZodType<readonly string[], string> {
  return parsed(
    'names separated by commas, with %2C for a comma and %25 for a percent sign in a name',
    (text) => {
      try {
        const found = text.split(',').map((name) => decodeURIComponent(name));
        return text === '' ? Object.freeze([]) : found.includes('') ? undefined : Object.freeze(found);
      } catch {
        return undefined; // malformed percent-encoding
      }
    },
  );
}

export function count(min: number, max: number): z.ZodType<number, string> {
  return parsed(`a whole number from ${min} to ${max}`, (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
    return value >= min && value <= max ? value : undefined;
  });
}

export interface TcpAddress {
  readonly kind: 'tcp';
  readonly host: string;
  readonly port: number;
}
export type ListenAddress = TcpAddress | { readonly kind: 'unix'; readonly path: string };

export function listenAddress(): z.ZodType<ListenAddress, string> {
  return parsed('host:port, [IPv6 address]:port or unix:/path', (text) => {
    if (text.startsWith('unix:')) {
      const path = text.slice('unix:'.length).replace(/^\/\/(?=\/)/, '');
      return isAbsolute(path) ? Object.freeze({ kind: 'unix', path }) : undefined;
    }
    const [, v6, name, digits] = /^(?:\[([0-9A-Fa-f:.%\w]+)\]|([^\s:/[\]]+)):(\d{1,5})$/.exec(text) ?? [];
    const host = v6 ?? name;
    const port = Number(digits);
    return host !== undefined && port <= 65_535 ? Object.freeze({ kind: 'tcp', host, port }) : undefined;
  });
}

/** An address of TCP, or undefined for `off`. */
export function tcpAddressOrOff(): z.ZodType<TcpAddress | undefined, string> {
  const address = listenAddress();
  return parsed('off, host:port or [IPv6 address]:port', (text) => {
    if (text === 'off') return text;
    const found = address.safeParse(text).data;
    return found?.kind === 'tcp' ? found : undefined;
  }).transform((value) => (value === 'off' ? undefined : value));
}

export function keyPrefix(): z.ZodType<string, string> {
  return parsed('1 to 64 letters, digits, dots, hyphens and underscores', (text) =>
    /^[A-Za-z0-9._-]{1,64}$/.test(text) ? text : undefined,
  );
}

export function flag(): z.ZodType<boolean, string> {
  return parsed('0 or 1', (text) => (text === '0' || text === '1' ? text === '1' : undefined));
}

/** Whether only programs of this machine reach the host. The name localhost stands for loopback addresses. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|(::ffff:)127(\.\d{1,3}){3}|::1|(0{1,4}:){7}0{0,3}1)$/i.test(host);
}

const INSECURE_PARTS = ['tls', 'auth', 'jwks'] as const;

/** The parts that the operator leaves insecure. */
export type InsecureParts = Readonly<Record<(typeof INSECURE_PARTS)[number], boolean>>;

export function insecureParts(): z.ZodType<InsecureParts, string> {
  return parsed('tls, auth, jwks, or several of them with commas between', (text) => {
    const parts = text === '' ? [] : text.split(',');
    if (!parts.every((part) => INSECURE_PARTS.some((known) => known === part))) return undefined;
    const [tls, auth, jwks] = INSECURE_PARTS.map((part) => parts.includes(part));
    return Object.freeze({ tls, auth, jwks } as InsecureParts);
  });
}

/** The name of a claim or an audience, as identities and logs may show it: ASCII without spaces. */
export function accountName(): z.ZodType<string, string> {
  return parsed('1 to 200 visible characters of ASCII', (text) =>
    /^[!-~]{1,200}$/.test(text) ? text : undefined,
  );
}

/** An identity has the issuer and the claim, with `#` between them. */
export function issuerName(): z.ZodType<string, string> {
  return parsed('1 to 200 visible characters of ASCII without #', (text) =>
    /^[!-"$-~]{1,200}$/.test(text) ? text : undefined,
  );
}

/** A file or a URL. */
export type KeySource = { readonly path: string } | { readonly url: string };

export function keySource(): z.ZodType<KeySource, string> {
  return parsed('the path of a file, or a URL with https or http and without a user', (text) => {
    if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return Object.freeze({ path: text });
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url === undefined || !['https:', 'http:'].includes(url.protocol)) return undefined;
    return url.username === '' && url.password === '' ? Object.freeze({ url: url.href }) : undefined;
  });
}

/** Whether the keys come from another machine without TLS. */
export function isOpenKeySource(source: KeySource): boolean {
  if (!('url' in source)) return false;
  const url = new URL(source.url);
  return url.protocol === 'http:' && !isLoopback(hostOfUrl(url));
}

/** The host without the brackets of an IPv6 address. */
export function hostOfUrl({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

export function filePath(): z.ZodType<string, string> {
  return z.string();
}

export function oneOf<const Words extends readonly [string, ...string[]]>(
  words: Words,
): z.ZodType<Words[number], string> {
  return parsed<Words[number]>(`one of ${words.join(', ')}`, (text) => words.find((word) => word === text));
}

/** One setting. Its value has the type T. The parser and docs/configuration.md are both made from these fields. */
export interface Option<T> {
  /** The environment variable. */
  readonly name: `HOLDFAST_${string}`;
  /** The default value, in the syntax of `format`. */
  readonly default?: string;
  /** The server does not start without a value. */
  readonly required?: true;
  /** The syntax of the value. */
  readonly format: string;
  /** The smallest and the largest value, for formats with bounds. */
  readonly range?: string;
  readonly example: string;
  /** The effect of the setting, and when to change the value. */
  readonly about: string;
  readonly schema: z.ZodType<T, string>;
}

/** A setting with a default, or a required setting. Such a setting always has a value. */
export function option<T>(
  entry: Option<T> & ({ readonly default: string } | { readonly required: true }),
): Option<T> {
  return entry;
}

export function optional<T>(entry: Option<T>): Option<T | undefined> {
  return entry;
}

interface DurationOption extends Omit<Option<number>, 'format' | 'range' | 'schema'> {
  readonly default: string;
  readonly from: string;
  readonly to: string;
}

export function durationOption({ from, to, ...entry }: DurationOption): Option<number> {
  return option({ ...entry, format: 'duration', range: `${from} to ${to}`, schema: duration(from, to) });
}

interface CountOption extends Omit<Option<number>, 'format' | 'range' | 'schema'> {
  readonly default: string;
  readonly from: number;
  readonly to: number;
}

export function countOption({ from, to, ...entry }: CountOption): Option<number> {
  return option({ ...entry, format: 'whole number', range: `${from} to ${to}`, schema: count(from, to) });
}

export function fileOption(
  name: Option<string>['name'],
  example: string,
  about: string,
  format = 'path of a PEM file',
): Option<string | undefined> {
  return optional({ name, format, example, about, schema: filePath() });
}
