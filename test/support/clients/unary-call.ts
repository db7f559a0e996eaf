import type { CallOptions, ChannelOptions, ClientUnaryCall, Metadata, ServiceError } from '@grpc/grpc-js';

/** Options of a channel with a connection of its own, on which the library retries nothing. */
export const OWN_CONNECTION = {
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_retries': 0,
} as const satisfies ChannelOptions;

/** A unary method of a generated stub. */
export type Method<Request, Response> = (
  request: Request,
  metadata: Metadata,
  options: Partial<CallOptions>,
  callback: Done<Response>,
) => ClientUnaryCall;

export type Done<Answer> = (error: ServiceError | null, answer: Answer) => void;

/** A unary call as a promise, which rejects with the error that gRPC reports. */
export function promised<Answer>(send: (done: Done<Answer>) => unknown): Promise<Answer> {
  return new Promise((resolve, reject) => {
    send((error, answer) => (error === null ? resolve(answer) : reject(error)));
  });
}

/** The message of a good answer. Throws if the message is missing. */
export function present<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('the answer lacks its message');
  return value;
}
