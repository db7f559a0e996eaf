import type { SessionCommand as CommandMessage } from '../../../generated/typescript/holdfast/v1/session_service';
import { anyLeaseId, type LeaseId } from '../lease-id';
import type { Limits } from '../limits';
import type { CommandRights, SessionCommand } from '../sessions/session-requests';
import { CheckedRights, EVERY_RIGHT, type NamedByCommand } from '../../access/command-rights';
import type { CallContext, HandledCall } from '../../rpc/handlers';
import { CommandReader, unknownCommand, type CommandDefaults } from './session-fields';

type Command = NonNullable<CommandMessage['command']>;

export interface CheckedCommand {
  readonly command: SessionCommand;
  readonly rights: CommandRights;
}

/**
 * Checks and translates the commands of sessions. A command follows the rules of the unary call that does the same.
 */
export class SessionCommands {
  private readonly reader: CommandReader;

  constructor(
    private readonly context: CallContext,
    limits: Limits,
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
    const rights = this.rightsFor(message, call, leases);
    try {
      const command = this.reader.read(message, defaults, rights.maxTtlMs);
      if (command.kind === 'acquire') call.takeCommand();
      return { command, rights };
    } catch (error) {
      rights.close();
      throw error;
    }
  }

  private rightsFor(message: Command, call: HandledCall, leases: NumberedLeases): typeof EVERY_RIGHT {
    const { control } = this.context;
    if (control?.authorization === undefined) return EVERY_RIGHT;
    const named = namedCall(message, leases);
    if (named === undefined) return EVERY_RIGHT;
    const rule = control.rules.get(named.path);
    if (rule === undefined) throw new Error(`no rule for ${named.path}`);
    return new CheckedRights(call, control.authorization, control.audit, rule, named);
  }
}

interface NumberedLeases {
  lease(leaseNumber: number): LeaseId | undefined;
}

/** The unary call that does the same as a command. */
type NamedCall = NamedByCommand & { readonly path: string };

/** Undefined: the command names nothing. */
function namedCall(message: Command, leases: NumberedLeases): NamedCall | undefined {
  switch (message.$case) {
    case 'acquireLock':
      return { path: '/holdfast.v1.LockService/AcquireLock', request: message.value };
    case 'acquirePermits':
      return { path: '/holdfast.v1.SemaphoreService/AcquirePermits', request: message.value };
    case 'attach':
      return byLease('Renew', anyLeaseId(message.value.leaseId));
    case 'update':
      return byLease('Renew', leases.lease(Number(message.value.leaseNumber)));
    case 'release': {
      const { lease } = message.value;
      if (lease === undefined) return undefined;
      const { $case, value } = lease;
      return byLease('Release', $case === 'leaseNumber' ? leases.lease(Number(value)) : anyLeaseId(value));
    }
    case 'cancel':
      return undefined;
  }
}

function byLease(verb: 'Renew' | 'Release', lease: LeaseId | undefined): NamedCall | undefined {
  if (lease === undefined) return undefined;
  const { service, name } = lease.resource;
  const path =
    service === 'lock'
      ? `/holdfast.v1.LockService/${verb}Lock`
      : `/holdfast.v1.SemaphoreService/${verb}Permits`;
  return { path, name };
}
