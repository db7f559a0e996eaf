import { accessSync, constants, statSync } from 'node:fs';
import type { ConnectOptions } from '../../clients/typescript';
import { isIPv6 } from 'node:net';
import { addressList } from '../../clients/typescript/connection/addresses';
import { MAX_TOKEN_FILE_BYTES, tokenText } from '../../clients/typescript/connection/token';
import { CLIENT_VARIABLES } from '../server/config/client-variables';
import { UsageError } from './exit-codes';
import { contextPath, readContexts, type Context } from './context-file';

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
export const DEFAULT_ADDRESS = `127.0.0.1:${DEFAULT_PORT}`;
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
