import {
  type DescriptorProto,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
  type FieldDescriptorProto,
  type FileDescriptorSet,
  FieldDescriptorProtoSchema,
} from '@bufbuild/protobuf/wkt';
import { isFieldSet } from '@bufbuild/protobuf';
import { encodeLeaseId } from '../../src/leases/lease-id';
import type { Service } from '../../src/leases/lease';

/** A request of a call, in the form of the generated code. The label says in what it differs from the first sample. */
export interface Sample {
  readonly label: string;
  readonly value: unknown;
}

/**
 * Samples of every request, made from the descriptors. In the first sample each text is the path of its field in `<>`, and
 * what may be absent is absent. Each other sample has one more or one less: an optional field, the case of a oneof, a true flag,
 * an empty text.
 */
export class Samples {
  private readonly messages: ReadonlyMap<string, DescriptorProto>;

  /** @param leasesOf the service of the leases that a `lease_id` may name */
  constructor(
    { file: files }: FileDescriptorSet,
    private readonly leasesOf: Service,
  ) {
    this.messages = new Map(
      files.flatMap((file) => file.messageType.map((type) => [`.${file.package}.${type.name}`, type])),
    );
  }

  /** @param type the full name with a leading dot */
  of(type: string, path = ''): Sample[] {
    const message = this.messages.get(type);
    if (message === undefined) throw new Error(`there is no message ${type}`);
    const parts: (readonly [string, Sample[]])[] = message.field
      .filter((field) => oneofOf(field) === undefined)
      .map((field) => [field.jsonName, this.ofField(field, path)]);
    for (const [index, { name }] of message.oneofDecl.entries()) {
      const cases = message.field.filter((field) => oneofOf(field) === index);
      if (cases.length === 0) continue;
      const samples = cases.flatMap((field) => this.ofCase(field, inside(path, name)));
      parts.push([name, [{ label: '', value: undefined }, ...samples]]);
    }
    const first = Object.fromEntries(parts.map(([name, samples]) => [name, samples[0]?.value]));
    const others = parts.flatMap(([name, samples]) =>
      samples.slice(1).map(({ label, value }) => ({ label, value: { ...first, [name]: value } })),
    );
    return [{ label: '', value: first }, ...others];
  }

  private ofCase(field: FieldDescriptorProto, path: string): Sample[] {
    const { jsonName: $case } = field;
    const at = inside(path, $case);
    return this.present(field, at).map(({ label, value }) => ({
      label: label || at,
      value: { $case, value },
    }));
  }

  private ofField(field: FieldDescriptorProto, path: string): Sample[] {
    const at = inside(path, field.jsonName);
    if (field.label === Label.REPEATED) return [{ label: '', value: this.repeated(field, at) }];
    const present = this.present(field, at);
    if (!field.proto3Optional && field.type !== Type.MESSAGE) return present;
    return [
      { label: '', value: undefined },
      ...present.map(({ label, value }) => ({ label: label || at, value })),
    ];
  }

  private repeated(field: FieldDescriptorProto, path: string): unknown {
    if (this.messages.get(field.typeName) === undefined && field.type === Type.MESSAGE) return new Map();
    return [this.present(field, path)[0]?.value];
  }

  private present(field: FieldDescriptorProto, path: string): Sample[] {
    switch (field.type) {
      case Type.MESSAGE:
        return this.of(field.typeName, path);
      case Type.STRING:
        return [
          { label: '', value: field.name === 'lease_id' ? this.leaseId(path) : `<${path}>` },
          { label: `${path} empty`, value: '' },
        ];
      case Type.BOOL:
        return [
          { label: '', value: false },
          { label: `${path} true`, value: true },
        ];
      case Type.BYTES:
        return [{ label: '', value: Buffer.from(path) }];
      case Type.INT64:
        return [{ label: '', value: 7n }];
      default:
        return [{ label: '', value: 7 }];
    }
  }

  private leaseId(path: string): string {
    const resource = { service: this.leasesOf, name: `<name in ${path}>` };
    return encodeLeaseId({
      resource,
      requestId: '3f2504e0-4f89-41d3-9a0c-0305e82c3301',
      secret: 'A'.repeat(22),
    });
  }
}

function inside(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

/** The index of the oneof of a field. Undefined: the field is in none, or only its presence is one. */
function oneofOf(field: FieldDescriptorProto): number | undefined {
  const isInOne = isFieldSet(field, FieldDescriptorProtoSchema.field.oneofIndex);
  return isInOne && !field.proto3Optional ? field.oneofIndex : undefined;
}
