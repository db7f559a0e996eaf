import type { Timestamp } from '../../../generated/typescript/google/protobuf/timestamp';
import { CliError, EXIT } from '../exit-codes';
import type { Revocation } from './resource-kind';

/** A message that every server sends. */
export function required<T>(message: T | undefined, what: string): T {
  if (message === undefined) throw new CliError(`the server has answered without the ${what}`, EXIT.defect);
  return message;
}

/** The common form of RevokeLockRequest and RevokePermitsRequest. */
export function revocationRequest({ name, target, force, reason }: Revocation) {
  const common = { name, force, reason };
  switch (target.kind) {
    case 'token':
      return {
        ...common,
        target: { $case: 'fencingToken' as const, value: target.fencingToken },
        enqueueTime: undefined,
      };
    case 'all':
      return { ...common, target: { $case: 'allHolders' as const, value: true }, enqueueTime: undefined };
    case 'waiter':
      return {
        ...common,
        target: { $case: 'waiterPosition' as const, value: target.position },
        enqueueTime: target.enqueueTime,
      };
  }
}

export function timeMs({ seconds, nanos }: Timestamp): number {
  return Number(seconds) * 1000 + nanos / 1e6;
}
