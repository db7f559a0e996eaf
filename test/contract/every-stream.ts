import type { ServiceError } from '@grpc/grpc-js';
import { eventually } from '../support/eventually';
import { contractCalls, type Sending } from './contract-calls';
import type { Harness } from './harness';

export interface StreamEnd {
  readonly path: string;
  readonly error: ServiceError;
}

/** The open streams. */
export interface EveryStream {
  /** Resolves when all streams have ended. */
  readonly ends: Promise<readonly StreamEnd[]>;
  /** The number of streams that the engine of leases knows to be cancelled. */
  readonly cancelledCount: () => number;
}

/** Opens every stream of the contract. Resolves when each has reached an engine. No stream ends by itself. */
export async function openEveryStream(harness: Harness, sending: Sending): Promise<EveryStream> {
  let cancelledCount = 0;
  const never = (call: { onCancelled(listener: () => void): void }): Promise<never> => {
    call.onCancelled(() => (cancelledCount += 1));
    return new Promise(() => undefined);
  };
  harness.permits.answers.hold = never;
  harness.permits.answers.watch = never;
  harness.permits.answers.take = never;
  const streams = contractCalls([]).filter(({ isStream }) => isStream);
  const reached = () => harness.permits.calls.length + harness.autocomplete.calls.length;
  const before = reached();
  const ends = Promise.all(
    streams.map(async ({ path, failure }) => ({
      path,
      error: await failure(harness, { ...sending, staysOpen: true }),
    })),
  );
  await eventually('every stream to reach an engine', () => reached() === before + streams.length);
  return { ends, cancelledCount: () => cancelledCount };
}
