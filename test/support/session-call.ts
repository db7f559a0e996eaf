import { toErrorSummary } from '../../src/rpc/call-errors';
import type { FakeCall } from './fake-call';
import { NO_LOG } from './no-log';

/** The parts of an error in the message of a stream. Nothing is logged. */
export const summaryOf = (error: unknown) => toErrorSummary(error, 'OpenSession', NO_LOG, () => ({}));

/** The call of an OpenSession stream, without quotas. */
export const sessionCall = (call: FakeCall) =>
  Object.assign(call, { takeCommand: () => undefined, countCommand: () => undefined, summaryOf });
