import { AUDITED_ACTS, type AuditedAct } from './audited-acts';
import { type CheckNames, keepsLease, NAMED_RESOURCES } from './named-resources';
import { CALLED_SERVICES, describedCalls, type CalledService, type RequiredVerb } from './verbs';

/** What a call needs and does, for the checks of its caller. */
export interface CallRule {
  readonly service: CalledService;
  readonly verb: RequiredVerb;
  readonly checkNames: CheckNames<unknown>;
  /** True: no quota refuses the request, because a refusal would lose a lease. */
  readonly keepsLease: (request: unknown) => boolean;
  /** Undefined: the call is not audited. */
  readonly actOf: ((request: unknown) => AuditedAct | undefined) | undefined;
}

/**
 * The rules of all calls of the contract, by path. Throws if the contract declares no verb for a call, or if the tables
 * lack a call.
 * @param fileDescriptorSet a serialized google.protobuf.FileDescriptorSet
 */
export function readCallRules(fileDescriptorSet: Uint8Array): ReadonlyMap<string, CallRule> {
  return new Map(
    describedCalls(fileDescriptorSet).map(({ path, service, method, verb }) => {
      const known = CALLED_SERVICES.find((name) => name === service);
      const field = method.charAt(0).toLowerCase() + method.slice(1);
      const checkNames = known && NAMED_RESOURCES[known][field];
      if (known === undefined || verb === undefined || checkNames === undefined) {
        throw new Error(`the call ${path} has no required_verb, or named-resources.ts lacks the call`);
      }
      return [
        path,
        {
          service: known,
          verb,
          checkNames: checkNames as CheckNames<unknown>,
          keepsLease: keepsLease(known, field),
          actOf: actOf(known, field),
        },
      ];
    }),
  );
}

function actOf(service: CalledService, field: string): CallRule['actOf'] {
  return AUDITED_ACTS[service][field] as CallRule['actOf'];
}
