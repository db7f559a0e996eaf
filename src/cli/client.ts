import { accessSync, constants, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Command, Option } from 'commander';
import { parse, stringify } from 'yaml';
import { connect, type ConnectOptions, type Holdfast, UnavailableError } from '../../clients/typescript';
import { unlessAborted } from '../../clients/typescript/calls/abort';
import { addressList } from '../../clients/typescript/connection/addresses';
import { MAX_TOKEN_FILE_BYTES, tokenText } from '../../clients/typescript/connection/token';
import { CLIENT_VARIABLES } from '../server/config/variables';
import { type Format, FORMATS, Output, problemText } from './output';
import { CliError, EXIT, type Terminal, timeSpan, UsageError } from './terminal';

/** Where and how to connect. A token itself is never in the file, only the path of a file with the token. */
export interface Context {
  address?: string;
  tls?: boolean;
  ca?: string;
  cert?: string;
  key?: string;
  serverName?: string;
  tokenFile?: string;
}

export interface Contexts {
  current?: string;
  /** By name. A map, because a name such as `__proto__` is a name like every other. */
  readonly contexts: Map<string, Context>;
}

const TEXTS = ['address', 'ca', 'cert', 'key', 'serverName', 'tokenFile'] as const;

/** HOLDFAST_CONTEXT_FILE, else holdfast/contexts.yaml in XDG_CONFIG_HOME or in ~/.config. */
export function contextPath(env: NodeJS.ProcessEnv): string {
  const own = env['HOLDFAST_CONTEXT_FILE'];
  if (own) return own;
  return join(
    env['XDG_CONFIG_HOME'] || join(env['HOME'] || homedir(), '.config'),
    'holdfast',
    'contexts.yaml',
  );
}

/** An absent file has no contexts. Throws a UsageError for a file that is not a list of contexts. */
export function readContexts(path: string): Contexts {
  let text;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { contexts: new Map() };
    throw new UsageError(`the context file ${path} cannot be read: ${(error as Error).message}`);
  }
  try {
    return checked(parse(text) ?? {});
  } catch (error) {
    throw new UsageError(`the context file ${path} is invalid: ${(error as Error).message}`);
  }
}

/** Replaces the file at once, so that no reader sees a part. Only the user may read the file. */
export function writeContexts(path: string, contexts: Contexts): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const next = `${path}.${process.pid}`;
  writeFileSync(next, stringify(contexts), { mode: 0o600 });
  renameSync(next, path);
}

function checked(value: unknown): Contexts {
  const { current, contexts = {} } = record(value, 'the file', ['current', 'contexts']);
  if (current !== undefined && typeof current !== 'string') throw new Error('"current" must be a name');
  const found = new Map<string, Context>();
  for (const [name, one] of Object.entries(record(contexts, '"contexts"'))) {
    found.set(name, context(name, one));
  }
  return { ...(current !== undefined && { current }), contexts: found };
}

function context(name: string, value: unknown): Context {
  const given = record(value, `the context "${name}"`, ['tls', ...TEXTS]);
  for (const key of TEXTS) {
    if (given[key] !== undefined && typeof given[key] !== 'string') {
      throw new Error(`"${key}" of the context "${name}" must be a text`);
    }
  }
  if (given['tls'] !== undefined && typeof given['tls'] !== 'boolean') {
    throw new Error(`"tls" of the context "${name}" must be true or false`);
  }
  return given;
}

function record(value: unknown, what: string, keys?: readonly string[]): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error(`${what} must be a map`);
  for (const key of Object.keys(value)) {
    if (keys && !keys.includes(key)) throw new Error(`${what} has the unknown key "${key}"`);
  }
  return value as Record<string, unknown>;
}

/** The options that every command with a connection has. */
export interface ConnectionFlags extends Context {
  context?: string;
  /** Milliseconds. */
  timeout?: number;
}

export interface ConnectionSettings {
  readonly address: string;
  /** No flag, variable or context has an address. */
  readonly isDefaultAddress: boolean;
  readonly options: ConnectOptions;
}

const DEFAULT_PORT = 50051;
const DEFAULT_ADDRESS = `127.0.0.1:${DEFAULT_PORT}`;
/** Somebody waits at the terminal, so the next address is asked sooner than a long-lived client would (ms). */
const ADDRESS_TIMEOUT_MS = 2000;

/**
 * Where to connect, each value by itself: the flag, else the environment variable, else the context. The address of one
 * source with the credential of another would send the credential to a server that it is not for: a flag or a variable
 * with an address therefore sets the context aside.
 */
export function connectionSettings(flags: ConnectionFlags, env: NodeJS.ProcessEnv): ConnectionSettings {
  const variable = (key: keyof typeof CLIENT_VARIABLES) => env[CLIENT_VARIABLES[key]] || undefined;
  const context = chosenContext(flags, env);
  const value = (key: 'address' | 'ca' | 'cert' | 'key' | 'serverName') =>
    flags[key] ?? variable(key) ?? context[key];
  const [ca, cert, key, serverName] = [value('ca'), value('cert'), value('key'), value('serverName')];
  if ((cert === undefined) !== (key === undefined))
    throw new UsageError('--cert and --key must be given together');
  const files = {
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key }),
    ...(serverName && { serverName }),
  };
  for (const file of [ca, cert, key]) if (file) checkReadable(file);
  const wantsTls = flags.tls ?? tlsVariable(variable('tls')) ?? context.tls;
  if (wantsTls === false && Object.keys(files).length > 0) {
    throw new UsageError(
      '--no-tls contradicts the certificates that are set: --ca, --cert, --key or --server-name',
    );
  }
  const tls = Object.keys(files).length > 0 ? files : wantsTls ? (true as const) : undefined;
  const token = tokenOf(flags, variable('token'), variable('tokenFile'), context);
  const given = value('address');
  const address = given === undefined ? undefined : withPorts(given);
  if (address !== undefined) checkAddresses(address);
  return {
    address: address ?? DEFAULT_ADDRESS,
    isDefaultAddress: address === undefined,
    options: {
      addressTimeout: ADDRESS_TIMEOUT_MS,
      ...(tls && { tls }),
      ...(token && { token }),
      ...(flags.timeout !== undefined && { timeout: flags.timeout }),
    },
  };
}

/** Adds the default port to each address without one: `lock-1`, `[::1]`, and `::1`, which needs brackets then. */
export function withPorts(addresses: string): string {
  return addresses.split(',').map(withPort).join(',');
}

function withPort(given: string): string {
  const address = given.trim();
  if (isIPv6(address)) return `[${address}]:${DEFAULT_PORT}`;
  const hasNoPort = /^(?:[^\s:/[\]]+|\[[^\]]+\])$/.test(address);
  return hasNoPort ? `${address}:${DEFAULT_PORT}` : address;
}

/** Throws a UsageError for an address that no server can have: the client would try to reach it until --timeout. */
export function checkAddresses(addresses: string): void {
  for (const address of addressList(addresses)) {
    const [, host = '', port] = /^(.*):(\d+)$/.exec(address) ?? [];
    if (!/^[^\s/]+$/.test(host) || Number(port) < 1 || Number(port) > 65_535) {
      throw new UsageError(`an address must be "host:port", with a port from 1 to 65535, not "${address}"`);
    }
  }
}

function chosenContext(flags: ConnectionFlags, env: NodeJS.ProcessEnv): Context {
  if (flags.context === undefined && (flags.address ?? env[CLIENT_VARIABLES.address])) return {};
  const path = contextPath(env);
  const { current, contexts } = readContexts(path);
  const name = flags.context ?? (env[CLIENT_VARIABLES.context] || current);
  if (name === undefined) return {};
  const context = contexts.get(name);
  if (context === undefined) {
    const known = [...contexts.keys()].join(', ') || 'none';
    throw new UsageError(`there is no context "${name}" in ${path}; its contexts: ${known}`);
  }
  return context;
}

function tlsVariable(text: string | undefined): boolean | undefined {
  if (text === undefined) return undefined;
  if (text === '1' || text === '0') return text === '1';
  throw new UsageError(`${CLIENT_VARIABLES.tls} must be 0 or 1, not "${text}"`);
}

/** A token in an argument would be readable by every user of the machine, so no flag takes one. */
function tokenOf(
  flags: ConnectionFlags,
  token: string | undefined,
  tokenFile: string | undefined,
  context: Context,
): ConnectOptions['token'] {
  if (flags.tokenFile) return fileToken(flags.tokenFile);
  if (token !== undefined && tokenFile !== undefined) {
    throw new UsageError(`set ${CLIENT_VARIABLES.token} or ${CLIENT_VARIABLES.tokenFile}, not both`);
  }
  if (token !== undefined) return token;
  const file = tokenFile ?? context.tokenFile;
  return file === undefined ? undefined : fileToken(file);
}

function fileToken(file: string): Exclude<ConnectOptions['token'], string | undefined> {
  checkReadable(file);
  const stat = statSync(file);
  if (stat.isFile() && stat.size <= MAX_TOKEN_FILE_BYTES) return { file };
  if (stat.isFile()) {
    throw new UsageError(
      `the token file ${file} has ${stat.size} bytes, more than ${MAX_TOKEN_FILE_BYTES}; is it the right file?`,
    );
  }
  if (!stat.isFIFO()) throw new UsageError(`the token file ${file} is neither a file nor a pipe`);
  // A pipe can be read once.
  let token: Promise<string> | undefined;
  return () => (token ??= tokenText(file));
}

/** A file that is not there is a mistake of the caller. The client would wait for the file until --timeout. */
function checkReadable(file: string): void {
  try {
    accessSync(file, constants.R_OK);
  } catch (error) {
    throw new UsageError(`the file ${file} cannot be read: ${(error as Error).message}`);
  }
}

/** The options of a command that prints data. */
export interface OutputFlags {
  output: Format;
}

/** Adds the options of the connection. */
export function connected(command: Command): Command {
  const from = (key: keyof typeof CLIENT_VARIABLES, otherwise = 'the context') =>
    `(default: ${CLIENT_VARIABLES[key]}, else ${otherwise})`;
  return command
    .optionsGroup('Connection:')
    .option(
      '-a, --address <host:port,…>',
      `servers of one store ${from('address', `the context, else ${DEFAULT_ADDRESS}`)}`,
    )
    .option('--context <name>', `a context of "holdfast context" ${from('context', 'the chosen one')}`)
    .option('--tls', `use TLS ${from('tls')}`)
    .option('--no-tls', 'use no TLS, although the context does')
    .option('--ca <file>', `certificate authorities of the servers, PEM ${from('ca')}`)
    .option('--cert <file>', `certificate of this client, PEM ${from('cert')}`)
    .option('--key <file>', `key of the certificate, PEM ${from('key')}`)
    .option('--server-name <name>', `name in the server's certificate ${from('serverName')}`)
    .option(
      '--token-file <file>',
      `file with a bearer token ${from('tokenFile', `the token in ${CLIENT_VARIABLES.token}`)}`,
    )
    .option('--timeout <time>', 'longest wait for the first answer of a server (default: 10s)', timeSpan);
}

/** Adds `-o`. */
export function printing(command: Command): Command {
  return command
    .optionsGroup('Output:')
    .addOption(
      new Option('-o, --output <format>', 'format of the data on stdout').choices(FORMATS).default('table'),
    );
}

/**
 * Connects, runs `body`, and closes the connection in every case. The first Ctrl-C ends the wait for `body`.
 *
 * @param address one of the addresses of the flags. Undefined: all of them
 */
export function withClient<T>(
  terminal: Terminal,
  flags: ConnectionFlags,
  body: (hf: Holdfast) => Promise<T>,
  more: ConnectOptions = {},
  address?: string,
): Promise<T> {
  const unlessEnded = (hf: Holdfast) => unlessAborted(body(hf), terminal.interrupted);
  return withClientOfRun(terminal, flags, unlessEnded, more, address);
}

/** The wait for answers at the end, if no server serves the session (ms). */
const CLOSE_MS = 200;

/** As `withClient`, for a body that ends itself after Ctrl-C, because a lease must not be released before its command ends. */
export async function withClientOfRun<T>(
  terminal: Terminal,
  flags: ConnectionFlags,
  body: (hf: Holdfast) => Promise<T>,
  more: ConnectOptions = {},
  oneAddress?: string,
): Promise<T> {
  const { address, isDefaultAddress, options } = connectionSettings(flags, terminal.env);
  const opening = connect(oneAddress ?? address, { ...options, ...more }).catch((error: unknown) => {
    throw isDefaultAddress && error instanceof UnavailableError ? noServerHere(error) : error;
  });
  const hf = await unlessAborted(opening, terminal.interrupted);
  try {
    return await body(hf);
  } finally {
    // Without a session nobody hears of what is left to say.
    await hf.close(hf.trouble ? { timeout: CLOSE_MS } : {});
  }
}

/** The first error of a new user, who has not started a server. */
function noServerHere(error: UnavailableError): CliError {
  const advice = '"holdfast dev" starts a server, and --address names another one';
  return new CliError(`${problemText(error)}; ${advice}`, EXIT.unreachable);
}

export function outputOf(terminal: Terminal, { output }: OutputFlags): Output {
  return new Output(terminal, output);
}
