import { fromBinary, isFieldSet } from '@bufbuild/protobuf';
import {
  FieldDescriptorProtoSchema,
  FileDescriptorProtoSchema,
  type FieldDescriptorProto,
  type FileDescriptorProto,
  type MethodDescriptorProto,
} from '@bufbuild/protobuf/wkt';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { type Verb, VERBS } from './policy';

/** `none`: every proven caller may make the call. */
export type RequiredVerb = Verb | 'none';

const PACKAGE = 'holdfast.v1';
/** The numbers of the options `required_verb` and `command_verb` (proto/holdfast/v1/access.proto). */
const REQUIRED_VERB = 51001;
const COMMAND_VERB = 51002;
const NUMBERS: readonly (RequiredVerb | undefined)[] = [undefined, 'none', ...VERBS];

/** The field `file` of a FileDescriptorSet, and the field `source_code_info` of a FileDescriptorProto. */
const FILE = 1;
const SOURCE_CODE_INFO = 9;

export interface DescribedFile {
  /** Without comments, which are most of the bytes: a server decodes them at each start, and never reads them. */
  readonly file: FileDescriptorProto;
  /** A serialized google.protobuf.FileDescriptorProto, with comments. */
  readonly bytes: Uint8Array;
}

/**
 * The files of a set, or of several sets one after the other. A file that comes again is left out, because each set has all
 * its imports.
 * @param fileDescriptorSet a serialized google.protobuf.FileDescriptorSet
 */
export function describedFiles(fileDescriptorSet: Uint8Array): readonly DescribedFile[] {
  const names = new Set<string>();
  return fieldsOf(fileDescriptorSet)
    .filter(({ field, wireType }) => field === FILE && wireType === WireType.LengthDelimited)
    .map(({ encoded }) => {
      const reader = new BinaryReader(encoded);
      reader.tag();
      const bytes = reader.bytes();
      const kept = fieldsOf(bytes).filter(({ field }) => field !== SOURCE_CODE_INFO);
      const file = fromBinary(
        FileDescriptorProtoSchema,
        Buffer.concat(kept.map(({ encoded: part }) => part)),
      );
      return { file, bytes };
    })
    .filter(({ file: { name } }) => !names.has(name) && names.add(name));
}

/** The fields of a message in order, each with its tag. */
function fieldsOf(message: Uint8Array) {
  const fields: { readonly field: number; readonly wireType: WireType; readonly encoded: Uint8Array }[] = [];
  const reader = new BinaryReader(message);
  while (reader.pos < reader.len) {
    const begin = reader.pos;
    const [field, wireType] = reader.tag();
    reader.skip(wireType, field);
    fields.push({ field, wireType, encoded: message.subarray(begin, reader.pos) });
  }
  return fields;
}

export interface DescribedCall {
  /** The path of the HTTP/2 request, such as `/holdfast.v1.LockService/AcquireLock`. */
  readonly path: string;
  /** Without its package. */
  readonly service: string;
  readonly method: string;
  /** Undefined: its proto file declares none, which is a defect. */
  readonly verb: RequiredVerb | undefined;
}

/** All calls with their verbs, in the order of the files, except those of gRPC itself: health and reflection. */
export function describedCalls(files: readonly DescribedFile[]): readonly DescribedCall[] {
  return files
    .filter(({ file }) => !file.package.startsWith('grpc.'))
    .flatMap(({ file }) =>
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

/** The kinds of a session's commands with their verbs, in the order of the contract. */
export function describedCommands(files: readonly DescribedFile[]): readonly DescribedCommand[] {
  return files
    .filter(({ file }) => file.package === PACKAGE)
    .flatMap(({ file }) => file.messageType)
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

/** The options are unknown to the generated code of descriptor.proto, so their bytes are among the unknown fields. */
function verbOf(
  { options }: MethodDescriptorProto | FieldDescriptorProto,
  option: number,
): RequiredVerb | undefined {
  const field = options?.$unknown?.findLast(({ no }) => no === option);
  return field && NUMBERS[new BinaryReader(field.data).uint32()];
}
