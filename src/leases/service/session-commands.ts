import type {
  SessionCommand as CommandMessage,
  ReleaseCommand,
} from '../../../generated/typescript/holdfast/v1/session_service';
import { EVERY_RIGHT, type NamedByCommand } from '../../access/authorization';
import { HoldfastError } from '../../base/errors';
import { Violations } from '../../rpc/fields';
import type { HandledCall, KnownRow, RequestRights } from '../../rpc/service';
import type { Limits } from '../lease';
import { anyLeaseId, type LeaseId } from '../lease-id';
import type { CommandRights, SessionCommand, SessionStart } from '../sessions/session-requests';
import { type LockRows, readMode, readPermits, type SemaphoreRows } from './lease-services';
import {
  type AcquireFields,
  checkHolderId,
  checkMetadata,
  checkRequestId,
  leaseRequestReaders,
  type LeaseRequestReaders,
} from './request-fields';
import { checkPartBytes, type SessionRequest } from './session-request';

/** Reads the messages of a session's client. A wrong message throws INVALID_FIELD. */

type Command = NonNullable<CommandMessage['command']>;

/** What SessionStart fills into acquire commands. */
export interface CommandDefaults {
  readonly holderId: string;
  readonly metadata: ReadonlyMap<string, string>;
}

/** @param receivedAt the receipt of the message (ms) */
export function readStart(
  { start, startBytes, heartbeatId }: SessionRequest,
  receivedAt: number,
): SessionStart & CommandDefaults {
  const violations = new Violations();
  if (start === undefined) {
    violations.add('start', 'is required in the first message of a session');
    return violations.throw();
  }
  checkPartBytes('start', startBytes);
  if (heartbeatId !== 1n) violations.add('heartbeat_id', 'must be 1 in the first message of a session');
  const clientId = checkRequestId(violations, 'start.client_id', start.clientId, true);
  const sessionNumber = checkId(violations, 'start.session_number', start.sessionNumber);
  checkHolderId(violations, 'start.holder_id', start.holderId);
  checkMetadata(violations, 'start.metadata', start.metadata);
  violations.throwIfAny();
  const { holderId, metadata } = start;
  return { clientId: clientId as string, sessionNumber, heartbeatId: 1, receivedAt, holderId, metadata };
}

/** Checks an id that must rise. Returns the id. */
export function readRisingId(field: string, id: bigint, last: number): number {
  const violations = new Violations();
  const number = checkId(violations, field, id);
  if (!violations.any && number <= last) violations.add(field, `is ${number} and must be above ${last}`);
  violations.throwIfAny();
  return number;
}

/** Ids are numbers of JavaScript, which are exact up to this bound. */
function checkId(violations: Violations, field: string, id: bigint): number {
  const number = Number(id);
  if (number < 1 || number > Number.MAX_SAFE_INTEGER) {
    violations.add(field, `is ${id} and must be from 1 to ${Number.MAX_SAFE_INTEGER}`);
  }
  return number;
}

class CommandReader {
  private readonly locks: LeaseRequestReaders<Parameters<typeof readMode>[1]>;
  private readonly semaphores: LeaseRequestReaders<Parameters<typeof readPermits>[1]>;

  constructor(limits: Limits) {
    this.locks = leaseRequestReaders(limits, readMode);
    this.semaphores = leaseRequestReaders(limits, readPermits);
  }

  read(command: Command, defaults: CommandDefaults, rights: RequestRights): SessionCommand {
    switch (command.$case) {
      case 'acquireLock': {
        const fields = withDefaults(command.value, defaults);
        const request = this.locks.readAcquire(fields, 'acquire_lock.', true, rights);
        return {
          kind: 'acquire',
          service: 'lock',
          request: { ...request, requestId: request.requestId as string },
        };
      }
      case 'acquirePermits': {
        const fields = withDefaults(command.value, defaults);
        const request = this.semaphores.readAcquire(fields, 'acquire_permits.', true, rights);
        const { requestId } = request;
        return {
          kind: 'acquire',
          service: 'semaphore',
          request: { ...request, requestId: requestId as string },
        };
      }
      case 'attach': {
        const { leaseId } = command.value;
        const { service } = leaseIn('attach.lease_id', leaseId).resource;
        return { kind: 'attach', service, leaseId };
      }
      case 'release':
        return readRelease(command.value);
      case 'update': {
        const { leaseNumber, metadataUpdate } = command.value;
        const violations = new Violations();
        const number = checkId(violations, 'update.lease_number', leaseNumber);
        if (metadataUpdate === undefined) violations.add('update.metadata_update', 'is required');
        const entries = metadataUpdate?.entries ?? new Map<string, string>();
        const metadata = checkMetadata(violations, 'update.metadata_update.entries', entries);
        violations.throwIfAny();
        return { kind: 'update', leaseNumber: number, metadata };
      }
      case 'cancel': {
        const violations = new Violations();
        const commandId = checkId(violations, 'cancel.command_id', command.value.commandId);
        violations.throwIfAny();
        return { kind: 'cancel', commandId };
      }
    }
  }
}

/** The error of a kind of command that only newer servers know. */
function unknownCommand(): HoldfastError {
  return new HoldfastError(
    'NOT_IMPLEMENTED',
    'this server does not know this kind of command: nothing was done; use a newer server',
  );
}

function readRelease({ lease }: ReleaseCommand): SessionCommand {
  const violations = new Violations();
  switch (lease?.$case) {
    case 'leaseNumber': {
      const leaseNumber = checkId(violations, 'release.lease_number', lease.value);
      violations.throwIfAny();
      return { kind: 'release-number', leaseNumber };
    }
    case 'leaseId':
      return { kind: 'release', lease: leaseIn('release.lease_id', lease.value) };
    default:
      violations.add('release.lease', 'is required: lease_number or lease_id');
      return violations.throw();
  }
}

function leaseIn(field: string, leaseId: string): LeaseId {
  const lease = anyLeaseId(leaseId);
  if (lease !== undefined) return lease;
  const violations = new Violations();
  violations.add(field, 'is not a lease_id that this service issued');
  return violations.throw();
}

/** Fills in the values before anything is compared, so that a repeated request keeps its values. */
function withDefaults<Request extends AcquireFields>(request: Request, defaults: CommandDefaults): Request {
  return {
    ...request,
    holderId: request.holderId === '' ? defaults.holderId : request.holderId,
    metadata: request.metadata.size === 0 ? defaults.metadata : request.metadata,
  };
}

export interface CheckedCommand {
  readonly command: SessionCommand;
  readonly rights: CommandRights;
}

/** Checks and translates the commands of sessions. A command follows the row of the unary call that does the same. */
export class SessionCommands {
  private readonly reader: CommandReader;

  constructor(
    limits: Limits,
    private readonly locks: LockRows,
    private readonly semaphores: SemaphoreRows,
  ) {
    this.reader = new CommandReader(limits);
  }

  /**
   * Throws the error of the command: INVALID_FIELD, NOT_ALLOWED, QUOTA_EXCEEDED or NOT_IMPLEMENTED.
   * @param leases the leases of the session, by number
   */
  check(
    { command: message }: CommandMessage,
    call: HandledCall,
    defaults: CommandDefaults,
    leases: NumberedLeases,
  ): CheckedCommand {
    if (message === undefined) throw unknownCommand();
    const unary = this.unaryCall(message, leases);
    const rights = unary === undefined ? EVERY_RIGHT : call.rightsFor(unary.row, unary.named);
    try {
      const command = this.reader.read(message, defaults, rights);
      if (unary !== undefined && unary.row.keepsLease === undefined) call.takeCommand();
      return { command, rights };
    } catch (error) {
      rights.close();
      throw error;
    }
  }

  /** The unary call that does the same as a command. Undefined: the command names nothing. */
  private unaryCall(message: Command, leases: NumberedLeases): UnaryCall | undefined {
    switch (message.$case) {
      case 'acquireLock':
        return { row: this.locks.rows.acquireLock, named: { request: message.value } };
      case 'acquirePermits':
        return { row: this.semaphores.rows.acquirePermits, named: { request: message.value } };
      case 'attach':
        return this.renewal(anyLeaseId(message.value.leaseId));
      case 'update':
        return this.renewal(leases.lease(Number(message.value.leaseNumber)));
      case 'release': {
        const { lease } = message.value;
        if (lease === undefined) return undefined;
        const { $case, value } = lease;
        return this.release($case === 'leaseNumber' ? leases.lease(Number(value)) : anyLeaseId(value));
      }
      case 'cancel':
        return undefined;
    }
  }

  private renewal(lease: LeaseId | undefined): UnaryCall | undefined {
    return byLease(lease, { lock: this.locks.rows.renewLock, semaphore: this.semaphores.rows.renewPermits });
  }

  private release(lease: LeaseId | undefined): UnaryCall | undefined {
    const { releaseLock: lock } = this.locks.rows;
    return byLease(lease, { lock, semaphore: this.semaphores.rows.releasePermits });
  }
}

interface NumberedLeases {
  lease(leaseNumber: number): LeaseId | undefined;
}

interface UnaryCall {
  readonly row: KnownRow;
  readonly named: NamedByCommand;
}

function byLease(
  lease: LeaseId | undefined,
  rows: Readonly<Record<LeaseId['resource']['service'], KnownRow>>,
): UnaryCall | undefined {
  return lease && { row: rows[lease.resource.service], named: { name: lease.resource.name } };
}
