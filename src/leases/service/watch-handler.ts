import type { handleServerStreamingCall } from '@grpc/grpc-js';
import type { ResourceView, Service } from '../lease';
import type { LeaseEngine } from '../lease-engine';
import { serverStream, type CallContext } from '../../rpc/handlers';
import { requireName } from '../../rpc/fields';
import { StateStream } from '../../rpc/state-stream';

/**
 * The handler of WatchLock or WatchSemaphore. All streams of a name send the same message object for a view, so that
 * `sharedSerializer` serializes the view once.
 */
export function watchHandler<Message extends object>(
  context: CallContext,
  engine: LeaseEngine,
  service: Service,
  toMessage: (view: ResourceView) => Message,
): handleServerStreamingCall<{ name: string }, Message> {
  const messages = new WeakMap<ResourceView, Message>();
  const messageOf = (view: ResourceView): Message => {
    let message = messages.get(view);
    if (message === undefined) messages.set(view, (message = toMessage(view)));
    return message;
  };
  return serverStream<{ name: string }, Message>(context, async ({ name }, call, stream) => {
    requireName('name', name);
    const states = new StateStream(stream, messageOf);
    try {
      await engine.watch(call, service, name, states);
    } finally {
      states.finish();
    }
  });
}
