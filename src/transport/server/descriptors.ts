import { fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  type DescriptorProto,
  type EnumDescriptorProto,
  type FieldDescriptorProto,
  type FileDescriptorProto,
} from '@bufbuild/protobuf/wkt';

interface DescribedFile {
  readonly imports: readonly string[];
  /** A serialized google.protobuf.FileDescriptorProto. */
  readonly bytes: Buffer;
}

/** The files that describe the server's API, found by whatever they declare. */
export class Descriptors {
  private readonly files = new Map<string, DescribedFile>();
  private readonly serviceNames: string[] = [];
  /** Full name of each thing declared, to the name of its file. */
  private readonly symbols = new Map<string, string>();
  /** Full name of each message type, to its extensions: their numbers, and the files that declare them. */
  private readonly extensions = new Map<string, Map<number, string>>();

  /** Takes a serialized google.protobuf.FileDescriptorSet, imports included. */
  constructor(fileDescriptorSet: Uint8Array) {
    const { file: files } = fromBinary(FileDescriptorSetSchema, fileDescriptorSet);
    for (const file of files) {
      const bytes = Buffer.from(toBinary(FileDescriptorProtoSchema, file));
      this.files.set(file.name, { imports: file.dependency, bytes });
      this.addDeclarations(file);
    }
  }

  /** Full names of all services. */
  get services(): readonly string[] {
    return this.serviceNames;
  }

  fileOfSymbol(symbol: string): string | undefined {
    return this.symbols.get(symbol);
  }

  fileOfExtension(messageType: string, number: number): string | undefined {
    return this.extensions.get(messageType)?.get(number);
  }

  /** Undefined if there is no such message type. */
  extensionNumbers(messageType: string): readonly number[] | undefined {
    const extensions = this.extensions.get(messageType);
    return extensions && [...extensions.keys()];
  }

  /**
   * A file and all that it imports, itself first: whoever asks can link them without asking again. Of the
   * imports those in `sent` are left out, and the others put in. Undefined if there is no such file.
   */
  withImports(fileName: string, sent: Set<string>): Buffer[] | undefined {
    const asked = this.files.get(fileName);
    if (asked === undefined) return undefined;
    sent.add(fileName);
    const found = [asked];
    // Grows while it is walked, so the imports' imports come too.
    for (const { imports } of found) {
      for (const name of imports) {
        const imported = this.files.get(name);
        if (imported === undefined || sent.has(name)) continue;
        sent.add(name);
        found.push(imported);
      }
    }
    return found.map(({ bytes }) => bytes);
  }

  private addDeclarations(file: FileDescriptorProto): void {
    const scope = file.package === '' ? '' : `${file.package}.`;
    for (const message of file.messageType) this.addMessage(file.name, scope, message);
    for (const enumeration of file.enumType) this.addEnum(file.name, scope, enumeration);
    for (const extension of file.extension) this.addExtension(file.name, scope, extension);
    for (const service of file.service) {
      const name = scope + service.name;
      this.serviceNames.push(name);
      this.symbols.set(name, file.name);
      for (const method of service.method) this.symbols.set(`${name}.${method.name}`, file.name);
    }
  }

  private addMessage(file: string, scope: string, message: DescriptorProto): void {
    const name = scope + message.name;
    const inside = `${name}.`;
    this.symbols.set(name, file);
    this.extensionsOf(name);
    for (const field of message.field) this.symbols.set(inside + field.name, file);
    for (const oneof of message.oneofDecl) this.symbols.set(inside + oneof.name, file);
    for (const nested of message.nestedType) this.addMessage(file, inside, nested);
    for (const enumeration of message.enumType) this.addEnum(file, inside, enumeration);
    for (const extension of message.extension) this.addExtension(file, inside, extension);
  }

  private addEnum(file: string, scope: string, enumeration: EnumDescriptorProto): void {
    this.symbols.set(scope + enumeration.name, file);
    // By protobuf's rules the values of an enum are its siblings, not its children.
    for (const value of enumeration.value) this.symbols.set(scope + value.name, file);
  }

  private addExtension(file: string, scope: string, extension: FieldDescriptorProto): void {
    this.symbols.set(scope + extension.name, file);
    // The compiler writes type names in full, with a dot in front.
    this.extensionsOf(extension.extendee.replace(/^\./, '')).set(extension.number, file);
  }

  private extensionsOf(messageType: string): Map<number, string> {
    let extensions = this.extensions.get(messageType);
    if (extensions === undefined) {
      extensions = new Map();
      this.extensions.set(messageType, extensions);
    }
    return extensions;
  }
}
