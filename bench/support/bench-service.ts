import type { ServiceDefinition, UntypedHandleCall } from '@grpc/grpc-js';
import { GetServerInfoRequest } from '../../generated/typescript/holdfast/v1/server_service';
import { unary, type CallContext } from '../../src/transport/grpc/call';

/** A message without fields, with the generated codec of the contract's messages. */
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

/** The handlers have the same wrapper as every method of the contract. */
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
