import type { SessionCommand as CommandMessage } from '../../../generated/typescript/holdfast/v1/session_service';
import { serviceOfLeaseId } from '../../engine/leases/lease-id';
import type { Limits } from '../../engine/leases/limits';
import type { CommandRights, SessionCommand } from '../../engine/sessions/session-requests';
import { CheckedRights, EVERY_RIGHT } from '../access/command-rights';
import type { CallContext, HandledCall } from '../grpc/call';
import { CommandReader, unknownCommand, type CommandDefaults } from './session-fields';

type Command = NonNullable<CommandMessage['command']>;

export interface CheckedCommand {
  readonly command: SessionCommand;
  readonly rights: CommandRights;
}

/** Checks and translates the commands of sessions. Each command has the rule of the unary call that does the same. */
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
   * @param leaseIdOf the lease_id of a lease of the session, by its number
   */
  check(
    { command: message }: CommandMessage,
    call: HandledCall,
    defaults: CommandDefaults,
    leaseIdOf: (leaseNumber: number) => string | undefined,
  ): CheckedCommand {
    if (message === undefined) throw unknownCommand();
    const rights = this.rightsFor(message, call, leaseIdOf);
    try {
      const command = this.reader.read(message, defaults);
      if (command.kind === 'acquire') call.takeCommand();
      return { command, rights };
    } catch (error) {
      rights.close();
      throw error;
    }
  }

  private rightsFor(
    message: Command,
    call: HandledCall,
    leaseIdOf: (leaseNumber: number) => string | undefined,
  ): CommandRights {
    const { control } = this.context;
    const named = namedCall(message, leaseIdOf);
    if (control?.authorization === undefined || named === undefined) return EVERY_RIGHT;
    const rule = control.rules.get(named.path);
    if (rule === undefined) throw new Error(`no rule for ${named.path}`);
    return new CheckedRights(call, control.authorization, control.audit, rule, named.request);
  }
}

interface NamedCall {
  /** The unary call that does the same. */
  readonly path: string;
  readonly request: unknown;
}

/** Undefined: the command names nothing. */
function namedCall(
  message: Command,
  leaseIdOf: (leaseNumber: number) => string | undefined,
): NamedCall | undefined {
  switch (message.$case) {
    case 'acquireLock':
      return { path: '/holdfast.v1.LockService/AcquireLock', request: message.value };
    case 'acquirePermits':
      return { path: '/holdfast.v1.SemaphoreService/AcquirePermits', request: message.value };
    case 'attach':
      return byLeaseId('Renew', message.value.leaseId);
    case 'update':
      return byLeaseId('Renew', leaseIdOf(Number(message.value.leaseNumber)));
    case 'release': {
      const { lease } = message.value;
      const leaseId = lease?.$case === 'leaseNumber' ? leaseIdOf(Number(lease.value)) : lease?.value;
      return byLeaseId('Release', leaseId);
    }
    case 'cancel':
      return undefined;
  }
}

function byLeaseId(verb: 'Renew' | 'Release', leaseId: string | undefined): NamedCall | undefined {
  const service = leaseId === undefined ? undefined : serviceOfLeaseId(leaseId);
  if (service === undefined) return undefined;
  const path =
    service === 'lock'
      ? `/holdfast.v1.LockService/${verb}Lock`
      : `/holdfast.v1.SemaphoreService/${verb}Permits`;
  return { path, request: { leaseId } };
}
