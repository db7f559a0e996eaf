import { HoldfastError } from '../../../clients/typescript';
import { addressList } from '../../../clients/typescript/connection/addresses';
import {
  GetServerInfoResponse,
  ServerServiceService as service,
  StoreState,
  storeStateToJSON,
} from '../../../generated/typescript/holdfast/v1/server_service';
import { outputOf, withClient, type OutputFlags } from '../command-setup';
import { connectionSettings, type ConnectionFlags } from '../settings';
import { EXIT, exitCodeOf } from '../exit-codes';
import { problemText } from '../problem-text';
import type { Terminal } from '../terminal';
import { NO_STORE, pauseText, warningsBesidePause } from '../server-pause';

/** The longest wait for one address, without --timeout (ms). */
const ANSWER_MS = 5000;

type Answer = { readonly address: string } & (
  { readonly info: GetServerInfoResponse } | { readonly error: string; readonly exitCode: number }
);

/** `holdfast status --all`: each address is asked alone, and all at once. */
export async function showAll(terminal: Terminal, flags: ConnectionFlags & OutputFlags): Promise<void> {
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
