import { status, type Client, type ServiceError } from '@grpc/grpc-js';
import { errorOfCall } from '../errors';
import { pauseBeforeRepeat } from '../pauses';
import { either, onAbort, pause } from './abort';
import type { CallChannel, Method } from './call-channel';

/**
 * The messages of a server stream, which is opened again after a break. Ends when `signal` aborts. Rejects with a
 * HoldfastError if a repetition cannot help.
 */
export async function* watch<Request, Response>(
  channel: CallChannel,
  method: Method<Request, Response>,
  request: Request,
  signal: AbortSignal | undefined,
): AsyncGenerator<Response, void, undefined> {
  const joined = either(signal, channel.closed);
  try {
    yield* repeat(channel, method, request, joined.signal);
  } finally {
    joined.dispose();
  }
}

async function* repeat<Request, Response>(
  channel: CallChannel,
  method: Method<Request, Response>,
  request: Request,
  ends: AbortSignal,
): AsyncGenerator<Response, void, undefined> {
  for (let failures = 1; !ends.aborted; failures++) {
    const client = channel.current;
    let failed;
    try {
      for await (const response of once(channel, client, method, request, ends)) {
        failures = 1;
        yield response;
      }
    } catch (error) {
      failed = errorOfCall(error as ServiceError);
      if (!ends.aborted && failed.code !== status.UNAVAILABLE) throw failed;
    }
    if (ends.aborted) return;
    channel.leave(client);
    await pause(pauseBeforeRepeat(failures, failed?.retryAfterMs), ends).catch(() => undefined);
  }
}

async function* once<Request, Response>(
  channel: CallChannel,
  client: Client,
  { path, requestSerialize, responseDeserialize }: Method<Request, Response>,
  request: Request,
  ends: AbortSignal,
): AsyncGenerator<Response, void, undefined> {
  const metadata = await channel.metadata();
  const call = client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, request, metadata);
  const remove = onAbort(ends, () => call.cancel());
  try {
    for await (const response of call) yield response as Response;
  } finally {
    remove();
    call.cancel();
  }
}
