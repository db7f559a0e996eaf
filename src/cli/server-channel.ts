import { Client, Metadata } from '@grpc/grpc-js';
import { UnavailableError, type ConnectOptions } from '../../clients/typescript';
import { timeoutOf } from '../../clients/typescript/calls/call-options';
import { addressList } from '../../clients/typescript/connection/addresses';
import { channelCredentials, channelOptions } from '../../clients/typescript/connection/tls';
import { tokenSource } from '../../clients/typescript/connection/token';
import { refuseTokenWithoutTls } from '../../clients/typescript/connection/transport-security';
import { timeOfDayMs } from './time-of-day';

/** A connection to one server for calls that only the server describes. */
export interface ServerChannel {
  readonly client: Client;
  readonly metadata: Metadata;
}

/**
 * Connects to the first address that answers within its share of the time. Close the client at the end. Rejects with an
 * UnavailableError if no server answers.
 */
export async function openChannel(addresses: string, options: ConnectOptions): Promise<ServerChannel> {
  const list = addressList(addresses);
  if (options.token !== undefined && options.tls === undefined) refuseTokenWithoutTls(list);
  const metadata = new Metadata();
  const bearer = await tokenSource(options.token)?.();
  if (bearer) metadata.set('authorization', `Bearer ${bearer.token}`);
  const shareMs = timeoutOf(options) / list.length;
  let problem = '';
  for (const address of list) {
    const client = new Client(address, channelCredentials(options.tls), channelOptions(options.tls));
    try {
      await ready(client, shareMs);
      return { client, metadata };
    } catch (error) {
      client.close();
      problem = `${address}: ${(error as Error).message}`;
    }
  }
  throw new UnavailableError(`no server answered in time: ${problem}`, { reason: 'NO_ANSWER', code: 14 });
}

function ready(client: Client, timeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    // grpc-js takes a deadline as a time of day.
    client.waitForReady(timeOfDayMs() + timeoutMs, (error) => (error ? reject(error) : resolve()));
  });
}
