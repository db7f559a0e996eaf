import { monitorEventLoopDelay } from 'node:perf_hooks';
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

/** The delay of the server's event loop since the last time of asking (ms). */
export interface LoopDelay {
  readonly p99: number;
  readonly max: number;
}

const loopDelay = {
  ...method('LoopDelay'),
  responseSerialize: (delay: LoopDelay): Buffer => Buffer.from(JSON.stringify(delay)),
  responseDeserialize: (bytes: Buffer): LoopDelay => JSON.parse(bytes.toString()) as LoopDelay,
};

/**
 * An additional service of the benchmark's server. Its empty call is the yardstick. The other calls collect garbage, and
 * tell the delay of the event loop.
 */
export const BenchService = {
  empty: method('Empty'),
  collectGarbage: method('CollectGarbage'),
  loopDelay,
} satisfies ServiceDefinition;

/** The sampling of the event loop's delay, in steps of 10 ms. The sampling starts with the first time of asking. */
class LoopMonitor {
  private readonly histogram = monitorEventLoopDelay({ resolution: 10 });

  read(): LoopDelay {
    const { histogram } = this;
    if (histogram.enable()) return { p99: 0, max: 0 };
    const delay = { p99: histogram.percentile(99) / 1e6, max: histogram.max / 1e6 };
    histogram.reset();
    return delay;
  }
}

/** The handlers run inside `unary`, as the handlers of all methods of the contract do. */
export function benchHandlers(context: CallContext): Record<keyof typeof BenchService, UntypedHandleCall> {
  const monitor = new LoopMonitor();
  return {
    empty: unary(context, () => Promise.resolve({})),
    collectGarbage: unary(context, () => {
      if (global.gc === undefined) throw new Error('the benchmark server runs without --expose-gc');
      global.gc();
      return Promise.resolve({});
    }),
    loopDelay: unary(context, () => Promise.resolve(monitor.read())),
  };
}
