import type { ServiceDefinition, UntypedHandleCall } from '@grpc/grpc-js';
import { GetServerInfoRequest } from '../../generated/typescript/holdfast/v1/server_service';
import { unary, type CallContext } from '../../src/transport/grpc/call';
import { LayerCount } from './layer-count';
import { LongSteps, type LongStep } from './long-steps';
import { LoopMonitor, type LoopDelay } from './loop-monitor';

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

/** A method that takes nothing and answers a value. */
function asking<Answer>(name: string) {
  return {
    ...method(name),
    responseSerialize: (answer: Answer): Buffer => Buffer.from(JSON.stringify(answer)),
    responseDeserialize: (bytes: Buffer): Answer => JSON.parse(bytes.toString()) as Answer,
  };
}

/** An additional service of the benchmark's server. Its empty call is the yardstick. */
export const BenchService = {
  empty: method('Empty'),
  collectGarbage: method('CollectGarbage'),
  loopDelay: asking<LoopDelay>('LoopDelay'),
  /** The largest number of layers of a dictionary since the last time of asking. */
  mostLayers: asking<number>('MostLayers'),
  startSteps: method('StartSteps'),
  /** The long steps of the main thread since `startSteps`. */
  longSteps: asking<readonly LongStep[]>('LongSteps'),
} satisfies ServiceDefinition;

/** The handlers run inside `unary`, as the handlers of all methods of the contract do. */
export function benchHandlers(context: CallContext): Record<keyof typeof BenchService, UntypedHandleCall> {
  const monitor = new LoopMonitor();
  const layers = new LayerCount();
  const steps = new LongSteps();
  return {
    empty: unary(context, () => Promise.resolve({})),
    collectGarbage: unary(context, () => {
      if (global.gc === undefined) throw new Error('the benchmark server runs without --expose-gc');
      global.gc();
      return Promise.resolve({});
    }),
    loopDelay: unary(context, () => Promise.resolve(monitor.read())),
    mostLayers: unary(context, () => Promise.resolve(layers.read())),
    startSteps: unary(context, async () => {
      await steps.start();
      return {};
    }),
    longSteps: unary(context, () => steps.stop()),
  };
}
