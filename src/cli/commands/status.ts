import type { Command } from 'commander';
import { HoldfastError } from '../../../clients/typescript';
import { addressList } from '../../../clients/typescript/connection/addresses';
import { durationToMs } from '../../../clients/typescript/duration';
import type { Duration } from '../../../generated/typescript/google/protobuf/duration';
import {
  featureToJSON,
  GetServerInfoResponse,
  ServerServiceService as service,
  StoreState,
  StoreExecution,
  storeStateToJSON,
} from '../../../generated/typescript/holdfast/v1/server_service';
import { DAY_MS } from '../../access/time-of-day';
import { shownCertificate, type ShownCertificate } from '../certificate';
import {
  connected,
  type ConnectionFlags,
  connectionSettings,
  type OutputFlags,
  outputOf,
  printing,
  withClient,
} from '../client';
import { problemText, spanText } from '../output';
import { NO_STORE, pauseText, warningsBesidePause } from '../server-trouble';
import { fields } from '../table';
import { EXIT, exitCodeOf, type Terminal, timeOfDayMs, timeOfDayText } from '../terminal';

/** The longest wait for one address, without --timeout (ms). */
const ANSWER_MS = 5000;

type Answer = { readonly address: string } & (
  { readonly info: GetServerInfoResponse } | { readonly error: string; readonly exitCode: number }
);

/** `holdfast status --all`: each address is asked alone, and all at once. */
async function showAll(terminal: Terminal, flags: ConnectionFlags & OutputFlags): Promise<void> {
  const addresses = addressList(connectionSettings(flags, terminal.env).address);
  const answers = await Promise.all(addresses.map((address) => ask(terminal, flags, address)));
  await outputOf(terminal, flags).rows([answers], toJson, [
    { title: 'ADDRESS', value: ({ address }) => address },
    { title: 'VERSION', value: (one) => ('info' in one ? one.info.version : '') },
    { title: 'STORE', value: (one) => ('info' in one ? storeText(one.info) : '') },
    { title: 'STATE', value: stateText, mayShrink: true },
  ]);
  const codes = answers.map(exitCodeFor);
  terminal.exitWith(codes.includes(EXIT.unreachable) ? EXIT.unreachable : Math.max(...codes));
}

function exitCodeFor(one: Answer): number {
  if ('error' in one) return one.exitCode;
  return one.info.storeState === StoreState.STORE_STATE_UNREACHABLE ? EXIT.unreachable : EXIT.done;
}

async function ask(terminal: Terminal, flags: ConnectionFlags, address: string): Promise<Answer> {
  const timeout = flags.timeout ?? ANSWER_MS;
  try {
    const info = await withClient(
      terminal,
      flags,
      (hf) => hf.call(service.getServerInfo, {}, { timeout }),
      { timeout },
      address,
    );
    return { address, info };
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    return { address, error: problemText(error), exitCode: exitCodeOf(error) };
  }
}

function storeText({ storeState }: GetServerInfoResponse): string {
  return storeStateToJSON(storeState).replace('STORE_STATE_', '').toLowerCase();
}

/** Undefined: the server does not know, or is older than the field. */
function executionText({ storeExecution }: GetServerInfoResponse): string | undefined {
  switch (storeExecution) {
    case StoreExecution.STORE_EXECUTION_FUNCTIONS:
      return 'by functions';
    case StoreExecution.STORE_EXECUTION_SCRIPTS:
      return 'by scripts, which cost the store more';
    default:
      return undefined;
  }
}

function stateText(one: Answer): string {
  if ('error' in one) return one.error;
  const { quarantine, storeState } = one.info;
  const parts = [
    ...(storeState === StoreState.STORE_STATE_UNREACHABLE ? [NO_STORE] : []),
    ...(quarantine ? [`grants are ${pauseText(quarantine)}`] : []),
    ...warningsBesidePause(one.info),
  ];
  return parts.length === 0 ? 'ok' : parts.join('; ');
}

function toJson(one: Answer): unknown {
  if ('error' in one) return { address: one.address, error: one.error };
  return { address: one.address, ...(GetServerInfoResponse.toJSON(one.info) as object) };
}

export function addStatus(program: Command, terminal: Terminal): void {
  const command = program
    .command('status')
    .summary('show a server, its store and a quarantine')
    .description(
      'Shows the version of a server, the state of its store, the warnings about the store, how the store carries out operations, and a pause of grants; without --all also the end of the TLS certificate of each address. JSON then has its names and days left, too.',
    );
  command.option(
    '--all',
    'one line for each address; the exit code is 69 if one does not answer or does not reach its store',
  );
  connected(printing(command)).action(async (flags: ConnectionFlags & OutputFlags & { all?: boolean }) => {
    if (flags.all === true) return showAll(terminal, flags);
    const info = await withClient(terminal, flags, (hf) => hf.call(service.getServerInfo, {}));
    const certificates = await certificatesOf(flags, terminal.env);
    const json = { ...(GetServerInfoResponse.toJSON(info) as object), ...certificatesJson(certificates) };
    await outputOf(terminal, flags).one(json, () => lines(info, certificates));
  });

  const end = program
    .command('end-quarantine')
    .summary('grant again before a quarantine has ended')
    .description(
      'Ends a quarantine. Do so only if no client can still believe in a lease that the store has lost: every such client has stopped, or its ttl has passed since the loss.',
    )
    .requiredOption('--reason <text>', "reason for the servers' audit log");
  connected(end).action(async (flags: ConnectionFlags & { reason: string }) => {
    const { endedQuarantine, risk } = await withClient(terminal, flags, (hf) =>
      hf.call(service.endQuarantine, { reason: flags.reason }),
    );
    if (endedQuarantine === undefined) terminal.err.write('there was no quarantine\n');
    else
      terminal.err.write(
        `ended ${durationText(endedQuarantine.remainingDuration)} early${risk ? `: ${risk}` : ''}\n`,
      );
  });
}

type Row = readonly [title: string, value: string];

type Certificate = { readonly address: string } & (ShownCertificate | { readonly error: string });

/** The certificate of each address. None without TLS. */
async function certificatesOf(flags: ConnectionFlags, env: NodeJS.ProcessEnv): Promise<Certificate[]> {
  const { address: addresses, options } = connectionSettings(flags, env);
  const { tls } = options;
  if (tls === undefined) return [];
  const read = async (address: string): Promise<Certificate> => {
    const failed = ({ message }: Error): Certificate => ({ address, error: message });
    return shownCertificate(address, tls).then((shown) => ({ address, ...shown }), failed);
  };
  return Promise.all(addressList(addresses).map(read));
}

/** The field `certificates` of the JSON. No field without TLS. */
function certificatesJson(certificates: readonly Certificate[]): object {
  if (certificates.length === 0) return {};
  const json = certificates.map((one) => {
    if ('error' in one) return one;
    const { address, names, endMs } = one;
    // Negative after the end.
    const daysLeft = Math.floor((endMs - timeOfDayMs()) / DAY_MS);
    return { address, names, endTime: timeOfDayText(endMs), daysLeft };
  });
  return { certificates: json };
}

function certificateRow(one: Certificate): Row {
  const text = 'error' in one ? `unknown: ${one.error}` : endText(one.endMs);
  return ['certificate', `${one.address}: ${text}`];
}

function endText(endMs: number): string {
  const leftMs = endMs - timeOfDayMs();
  return `${leftMs > 0 ? `${spanText(leftMs)} left` : 'has ended'}, until ${timeOfDayText(endMs)}`;
}

function lines(info: GetServerInfoResponse, certificates: readonly Certificate[]): string[] {
  const { version, minTtl, defaultTtl, maxTtl, features, quarantine } = info;
  return fields([
    ['version', version],
    ['store', storeText(info)],
    ['operations', executionText(info)],
    ['grants', quarantine && pauseText(quarantine)],
    ...warningsBesidePause(info).map((warning) => ['warning', warning] as const),
    ...certificates.map(certificateRow),
    ['ttl', `${durationText(minTtl)} to ${durationText(maxTtl)}, default ${durationText(defaultTtl)}`],
    ['features', features.map((one) => featureToJSON(one).replace('FEATURE_', '').toLowerCase()).join(', ')],
  ]);
}

function durationText(duration: Duration | undefined): string {
  return duration ? spanText(durationToMs(duration) ?? 0) : '0s';
}
