import { fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema, type MethodDescriptorProto } from '@bufbuild/protobuf/wkt';
import { BinaryReader } from '@bufbuild/protobuf/wire';

/** The verbs of a policy. The numbers of `none` and of the verbs are those of holdfast.v1.Verb. */
export const VERBS = ['read', 'use', 'limit', 'revoke', 'import', 'admin'] as const;
export type Verb = (typeof VERBS)[number];
/** `none`: every proven caller may make the call. */
export type RequiredVerb = Verb | 'none';

/** The services of a policy, by their names in the contract. */
export const SERVICES = ['LockService', 'SemaphoreService', 'AutocompleteService', 'ServerService'] as const;
export type ServiceName = (typeof SERVICES)[number];

const PACKAGE = 'holdfast.v1';
/** The number of the option `required_verb` (proto/holdfast/v1/access.proto). */
const REQUIRED_VERB = 51001;
const NUMBERS: readonly (RequiredVerb | undefined)[] = [undefined, 'none', ...VERBS];

export interface DescribedCall {
  /** The path of the HTTP/2 request, such as `/holdfast.v1.LockService/AcquireLock`. */
  readonly path: string;
  readonly service: string;
  readonly method: string;
  /** Undefined: the contract declares none, which is a defect. */
  readonly verb: RequiredVerb | undefined;
}

/**
 * The calls of the contract with their verbs, in the order of the contract.
 * @param fileDescriptorSet a serialized google.protobuf.FileDescriptorSet
 */
export function describedCalls(fileDescriptorSet: Uint8Array): readonly DescribedCall[] {
  const { file: files } = fromBinary(FileDescriptorSetSchema, fileDescriptorSet);
  return files
    .filter((file) => file.package === PACKAGE)
    .flatMap((file) => file.service)
    .flatMap((service) =>
      service.method.map((method) => ({
        path: `/${PACKAGE}.${service.name}/${method.name}`,
        service: service.name,
        method: method.name,
        verb: verbOf(method),
      })),
    );
}

/** The option is unknown to the generated code of descriptor.proto, so its bytes are among the unknown fields. */
function verbOf({ options }: MethodDescriptorProto): RequiredVerb | undefined {
  const field = options?.$unknown?.findLast(({ no }) => no === REQUIRED_VERB);
  return field && NUMBERS[new BinaryReader(field.data).uint32()];
}
