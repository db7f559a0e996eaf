import { HoldfastError } from '../../../clients/typescript';
import { addressList } from '../../../clients/typescript/connection/addresses';
import {
  GetServerInfoResponse,
  ServerServiceService as service,
  storeStateToJSON,
} from '../../../generated/typescript/holdfast/v1/server_service';
import { outputOf, withClient, type OutputFlags } from '../command-setup';
import { connectionSettings, type ConnectionFlags } from '../connection/settings';
import { EXIT } from '../exit-codes';
import { problemText } from '../output/problem-text';
import type { Terminal } from '../terminal';
import { pauseText } from './server-pause';

/** The longest wait for one address, without --timeout (ms). */
const ANSWER_MS = 5000;

type Answer = { readonly address: string } & (
  { readonly info: GetServerInfoResponse } | { readonly error: string }
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
  if (answers.some((one) => 'error' in one)) terminal.exitWith(EXIT.unreachable);
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
    return { address, error: problemText(error) };
  }
}

function storeText({ storeState }: GetServerInfoResponse): string {
  return storeStateToJSON(storeState).replace('STORE_STATE_', '').toLowerCase();
}

function stateText(one: Answer): string {
  if ('error' in one) return one.error;
  const { quarantine, storeWarnings } = one.info;
  const parts = [...(quarantine ? [pauseText(quarantine)] : []), ...storeWarnings];
  return parts.length === 0 ? 'ok' : parts.join('; ');
}

function toJson(one: Answer): unknown {
  if ('error' in one) return one;
  return { address: one.address, ...(GetServerInfoResponse.toJSON(one.info) as object) };
}
