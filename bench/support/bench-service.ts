import type { ServiceDefinition, UntypedHandleCall } from '@grpc/grpc-js';
import { GetServerInfoRequest } from '../../generated/typescript/holdfast/v1/server_service';
import { unary, type CallContext } from '../../src/transport/grpc/call';

/** The codec of an empty message, generated like the codecs of all messages of the contract. */
const nothing = {
  serialize: (): Buffer => Buffer.from(GetServerInfoRequest.encode({}).finish()),
  deserialize: (bytes: Buffer): GetServerInfoRequest => GetServerInfoRequest.decode(bytes),
};

function method(name: string) {
  return {
    path: `/holdfast.bench.BenchService/${name}`,
    requestStream: false,
    responseStream: false,
    requestSerialize: nothing.serialize,
    requestDeserialize: nothing.deserialize,
    responseSerialize: nothing.serialize,
    responseDeserialize: nothing.deserialize,
  } as const;
}

/** An additional service of the benchmark's server. Its empty call is the yardstick, and another call collects garbage. */
export const BenchService = {
  empty: method('Empty'),
  collectGarbage: method('CollectGarbage'),
} satisfies ServiceDefinition;

/** The handlers run inside `unary`, as the handlers of all methods of the contract do. */
export function benchHandlers(context: CallContext): Record<keyof typeof BenchService, UntypedHandleCall> {
  return {
    empty: unary(context, () => Promise.resolve({})),
    collectGarbage: unary(context, () => {
      if (global.gc === undefined) throw new Error('the benchmark server runs without --expose-gc');
      global.gc();
      return Promise.resolve({});
    }),
  };
}
