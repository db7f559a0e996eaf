import { fromBinary, isFieldSet } from '@bufbuild/protobuf';
import {
  FieldDescriptorProtoSchema,
  FileDescriptorSetSchema,
  type FieldDescriptorProto,
  type FileDescriptorProto,
  type MethodDescriptorProto,
} from '@bufbuild/protobuf/wkt';
import { BinaryReader } from '@bufbuild/protobuf/wire';

/** The verbs of a policy. The numbers of `none` and of the verbs are those of holdfast.v1.Verb. */
export const VERBS = ['read', 'use', 'limit', 'revoke', 'import', 'admin'] as const;
export type Verb = (typeof VERBS)[number];
/** `none`: every proven caller may make the call. */
export type RequiredVerb = Verb | 'none';

/**
 * The services of a policy, by their names in the contract. There are no rules for SessionService: each command of a
 * session needs a permission in LockService or SemaphoreService.
 */
export const SERVICES = ['LockService', 'SemaphoreService', 'AutocompleteService', 'ServerService'] as const;

const PACKAGE = 'holdfast.v1';
/** The numbers of the options `required_verb` and `command_verb` (proto/holdfast/v1/access.proto). */
const REQUIRED_VERB = 51001;
const COMMAND_VERB = 51002;
const NUMBERS: readonly (RequiredVerb | undefined)[] = [undefined, 'none', ...VERBS];

export interface DescribedCall {
  /** The path of the HTTP/2 request, such as `/holdfast.v1.LockService/AcquireLock`. */
  readonly path: string;
  /** Without its package. */
  readonly service: string;
  readonly method: string;
  /** Undefined: its proto file declares none, which is a defect. */
  readonly verb: RequiredVerb | undefined;
}

/**
 * All calls with their verbs, in the order of the descriptors, except those of gRPC itself: health and reflection.
 * @param fileDescriptorSet a serialized google.protobuf.FileDescriptorSet
 */
export function describedCalls(fileDescriptorSet: Uint8Array): readonly DescribedCall[] {
  const { file: files } = fromBinary(FileDescriptorSetSchema, fileDescriptorSet);
  return files
    .filter((file) => !file.package.startsWith('grpc.'))
    .flatMap((file) =>
      file.service.flatMap(({ name: service, method: methods }) =>
        methods.map((method) => ({
          path: `/${file.package}.${service}/${method.name}`,
          service,
          method: method.name,
          verb: verbOf(method, REQUIRED_VERB),
        })),
      ),
    );
}

export interface DescribedCommand {
  /** The name of the kind in generated code, such as `acquireLock`. */
  readonly kind: string;
  /** Undefined: the contract declares none, which is a defect. */
  readonly verb: RequiredVerb | undefined;
}

/**
 * The kinds of a session's commands with their verbs, in the order of the contract.
 * @param fileDescriptorSet a serialized google.protobuf.FileDescriptorSet
 */
export function describedCommands(fileDescriptorSet: Uint8Array): readonly DescribedCommand[] {
  return filesOf(fileDescriptorSet)
    .flatMap((file) => file.messageType)
    .filter(({ name }) => name === 'SessionCommand')
    .flatMap(({ field: fields, oneofDecl: oneofs }) =>
      fields.filter((field) => isInOneof(field) && oneofs[field.oneofIndex]?.name === 'command'),
    )
    .map((field) => ({ kind: field.jsonName, verb: verbOf(field, COMMAND_VERB) }));
}

/** A field outside of a oneof has the index 0 too, but the index is not set. */
function isInOneof(field: FieldDescriptorProto): boolean {
  return isFieldSet(field, FieldDescriptorProtoSchema.field.oneofIndex);
}

function filesOf(fileDescriptorSet: Uint8Array): readonly FileDescriptorProto[] {
  const { file: files } = fromBinary(FileDescriptorSetSchema, fileDescriptorSet);
  return files.filter((file) => file.package === PACKAGE);
}

/** The options are unknown to the generated code of descriptor.proto, so their bytes are among the unknown fields. */
function verbOf(
  { options }: MethodDescriptorProto | FieldDescriptorProto,
  option: number,
): RequiredVerb | undefined {
  const field = options?.$unknown?.findLast(({ no }) => no === option);
  return field && NUMBERS[new BinaryReader(field.data).uint32()];
}
