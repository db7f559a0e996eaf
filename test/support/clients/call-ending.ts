import { setTimeout as sleep } from 'node:timers/promises';
import { status, type ServiceError } from '@grpc/grpc-js';
import { holdfastError } from '../../../clients/typescript';

/** The status and the reason of an ended call, in the contract's words. */
export interface Ending {
  /** The gRPC status code, such as OK or ABORTED. */
  readonly code: string;
  /** The reason, such as CONTENDED. Undefined if no Holdfast server set a reason. */
  readonly reason: string | undefined;
  readonly metadata: Readonly<Record<string, string>>;
  readonly retryAfterMs: number | undefined;
  readonly pushback: string | undefined;
  readonly text: string;
}

export const OK: Ending = {
  code: 'OK',
  reason: undefined,
  metadata: {},
  retryAfterMs: undefined,
  pushback: undefined,
  text: '',
};

/** Rethrows an error that is not a gRPC status. */
export function endingOf(error: unknown): Ending {
  if (!(error instanceof Error) || !('code' in error)) throw error;
  const { code, details, metadata } = error as ServiceError;
  const fault = holdfastError(error);
  return {
    code: status[code],
    reason: fault?.reason,
    metadata: Object.fromEntries(fault?.metadata ?? []),
    retryAfterMs: fault?.retryAfterMs,
    pushback: metadata.get('grpc-retry-pushback-ms')[0]?.toString(),
    text: details,
  };
}

/** The ending of a call that must fail. */
export async function refusal(call: Promise<unknown>): Promise<Ending> {
  const answer = await call.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ('error' in answer) return endingOf(answer.error);
  throw new Error(`the call must fail, but it answered ${String(answer.value)}`);
}

/** Repeats the call while the server answers OVERLOADED, as a client of a busy server does. */
export async function patiently<Answer>(call: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      const { reason, retryAfterMs } = endingOf(error);
      if (reason !== 'OVERLOADED') throw error;
      await sleep(retryAfterMs ?? 0);
    }
  }
}

/** As `refusal`, for a call that is repeated while the server answers OVERLOADED. */
export function patientRefusal(call: () => Promise<unknown>): Promise<Ending> {
  return refusal(patiently(call));
}
