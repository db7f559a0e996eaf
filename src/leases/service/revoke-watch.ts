import type { Timestamp } from '../../../generated/typescript/google/protobuf/timestamp';
import { checkName, checkText, requireName, Violations } from '../../rpc/fields';
import type { UnaryRow, WatchRow } from '../../rpc/service';
import { StateStream } from '../../rpc/streams';
import { msToTimestamp, timestampToUs } from '../../rpc/wire';
import type { ResourceView, Service } from '../lease';
import type { RevokeRequest } from '../lease-requests';
import type { RevokeTarget } from '../lease-store';
import type { LeaseEngine } from '../leases';
import { byName } from './request-fields';

/** Bound of the reason that an operator gives. */
const MAX_REASON_BYTES = 512;

type TargetMessage =
  | { readonly $case: 'fencingToken'; readonly value: bigint }
  | { readonly $case: 'allHolders'; readonly value: boolean }
  | { readonly $case: 'waiterPosition'; readonly value: number };

/** RevokeLockRequest and RevokePermitsRequest have the same fields. */
interface RevokeFields {
  readonly name: string;
  readonly target?: TargetMessage | undefined;
  readonly enqueueTime: Timestamp | undefined;
  readonly force: boolean;
  readonly reason: string;
}

interface RevokeAnswer {
  revokedCount: number;
  freeTime: Timestamp | undefined;
}

/** The row of RevokeLock and RevokePermits. */
export function revokeRow(engine: LeaseEngine, service: Service): UnaryRow<RevokeFields, RevokeAnswer> {
  return {
    names: byName,
    load: 'normal',
    audit: ({ name, target, force, reason }) => ({
      action: 'revoke',
      name,
      requestReason: reason,
      details: { force, ...(target && { target: `${target.$case} ${target.value}` }) },
    }),
    handle: async (fields, call) => {
      const request = readRevoke(fields);
      const { revokedCount, freeTimeMs } = await engine.revoke(call, service, request);
      return { revokedCount, freeTime: freeTimeMs === undefined ? undefined : msToTimestamp(freeTimeMs) };
    },
  };
}

/** Throws INVALID_FIELD. */
function readRevoke({ name, target, enqueueTime, force, reason }: RevokeFields): RevokeRequest {
  const violations = new Violations();
  checkName(violations, 'name', name);
  const checked = readTarget(violations, target, enqueueTime);
  if (enqueueTime !== undefined && target?.$case !== 'waiterPosition') {
    violations.add('enqueue_time', 'is only for waiter_position');
  }
  if (reason !== '') checkText(violations, 'reason', reason, MAX_REASON_BYTES);
  violations.throwIfAny();
  return { name, target: checked as RevokeTarget, force };
}

/** Undefined: the target is not valid. */
function readTarget(
  violations: Violations,
  target: TargetMessage | undefined,
  enqueueTime: Timestamp | undefined,
): RevokeTarget | undefined {
  switch (target?.$case) {
    case 'fencingToken':
      if (target.value < 1n) violations.add('fencing_token', `is ${target.value} and must be at least 1`);
      return { kind: 'token', fencingToken: target.value };
    case 'allHolders':
      if (!target.value) violations.add('all_holders', 'must be true');
      return { kind: 'all-holders' };
    case 'waiterPosition': {
      const { value: position } = target;
      if (position < 1) violations.add('waiter_position', `is ${position} and must be at least 1`);
      const enqueueTimeUs = enqueueTime && timestampToUs(enqueueTime);
      if (enqueueTime === undefined) violations.add('enqueue_time', 'is required with waiter_position');
      else if (enqueueTimeUs === undefined) violations.add('enqueue_time', 'is not a valid Timestamp');
      return enqueueTimeUs === undefined ? undefined : { kind: 'waiter', position, enqueueTimeUs };
    }
    default:
      violations.add('target', 'is required: fencing_token, all_holders or waiter_position');
      return undefined;
  }
}

/**
 * The row of WatchLock or WatchSemaphore. All streams of a name send the same message object for a view, so that
 * `sharedSerializer` serializes the view once.
 */
export function watchRow<Message extends object>(
  engine: LeaseEngine,
  service: Service,
  toMessage: (view: ResourceView) => Message,
): WatchRow<{ name: string }, Message> {
  const messages = new WeakMap<ResourceView, Message>();
  const messageOf = (view: ResourceView): Message => {
    let message = messages.get(view);
    if (message === undefined) messages.set(view, (message = toMessage(view)));
    return message;
  };
  return {
    names: byName,
    load: 'normal',
    handle: async ({ name }, call, stream) => {
      requireName('name', name);
      const states = new StateStream(stream, messageOf);
      try {
        await engine.watch(call, service, name, states);
      } finally {
        states.finish();
      }
    },
  };
}
