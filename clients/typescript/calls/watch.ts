import { status, type Client, type ServiceError } from '@grpc/grpc-js';
import { ClosedError, errorOf, errorOfCall } from '../errors';
import { either, onAbort, pause } from './abort';
import type { CallChannel, Method, Prepared } from './call-channel';
import { FIRST_MESSAGE_MS, type WatchOptions } from './call-options';
import { Iteration } from './iteration';
import { Repetition } from './repetition';

/**
 * The messages of a server stream, which is opened again after a break. Ends when `signal` aborts. Rejects with a
 * ClosedError when the client is closed, and with a HoldfastError if a repetition cannot help.
 */
export function watch<Request, Response>(
  channel: CallChannel,
  method: Method<Request, Response>,
  request: Request,
  options: WatchOptions = {},
): AsyncGenerator<Response, void, undefined> {
  return new Iteration(options.signal, (ends) => untilClosed(channel, method, request, ends));
}

async function* untilClosed<Request, Response>(
  channel: CallChannel,
  method: Method<Request, Response>,
  request: Request,
  ends: AbortSignal,
): AsyncGenerator<Response, void, undefined> {
  if (channel.closed.aborted) throw new ClosedError();
  const joined = either(ends, channel.closed);
  try {
    yield* repeat(channel, method, request, joined.signal);
    if (channel.closed.aborted && !ends.aborted) throw new ClosedError();
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
  const repetition = new Repetition(true);
  while (!ends.aborted) {
    let client: Client | undefined;
    let failed = errorOfCall(undefined);
    try {
      const prepared = await channel.prepare(ends);
      ({ client } = prepared);
      for await (const response of once(prepared, method, request, ends)) {
        repetition.answered();
        yield response;
      }
    } catch (error) {
      failed = errorOfCall(error as ServiceError);
    }
    if (ends.aborted) return;
    if (client) channel.failed(client, failed);
    const pauseMs = repetition.pauseAfter(failed, client !== undefined);
    if (pauseMs === undefined) throw failed;
    await pause(pauseMs, ends).catch(() => undefined);
  }
}

async function* once<Request, Response>(
  { client, metadata }: Prepared,
  { path, requestSerialize, responseDeserialize }: Method<Request, Response>,
  request: Request,
  ends: AbortSignal,
): AsyncGenerator<Response, void, undefined> {
  const call = client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, request, metadata);
  const remove = onAbort(ends, () => call.cancel());
  let isSilent = false;
  const timer = setTimeout(() => {
    isSilent = true;
    call.cancel();
  }, FIRST_MESSAGE_MS);
  try {
    for await (const response of call) {
      clearTimeout(timer);
      yield response as Response;
    }
  } catch (error) {
    throw isSilent ? silentWatch(path) : error;
  } finally {
    clearTimeout(timer);
    remove();
    call.cancel();
  }
}

function silentWatch(path: string): Error {
  const text = `${path} has sent nothing for ${FIRST_MESSAGE_MS} ms`;
  return errorOf(text, { reason: '', code: status.UNAVAILABLE });
}
