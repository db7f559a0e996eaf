import { InterceptingCall, type ChannelOptions, type ClientOptions, type Interceptor } from '@grpc/grpc-js';

/** The options of a client that sends this token with each call. */
export function bearer(token: string | undefined): ChannelOptions {
  if (token === undefined) return {};
  const interceptor: Interceptor = (options, nextCall) =>
    new InterceptingCall(nextCall(options), {
      start: (metadata, listener, next) => {
        metadata.set('authorization', `Bearer ${token}`);
        next(metadata, listener);
      },
    });
  const options: ClientOptions = { interceptors: [interceptor] };
  return options;
}
