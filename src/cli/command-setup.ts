import { Option, type Command } from 'commander';
import { connect, UnavailableError, type ConnectOptions, type Holdfast } from '../../clients/typescript';
import { unlessAborted } from '../../clients/typescript/calls/abort';
import { CLIENT_VARIABLES } from '../server/config/client-variables';
import { timeSpan } from './arguments';
import { connectionSettings, DEFAULT_ADDRESS, type ConnectionFlags } from './settings';
import { CliError, EXIT } from './exit-codes';
import { problemText } from './problem-text';
import { FORMATS, Output, type Format } from './output';
import type { Terminal } from './terminal';

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
