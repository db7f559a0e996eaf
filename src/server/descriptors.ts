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

/** The proto files of the server's API, indexed by the symbols that they declare. */
export class Descriptors {
  private readonly files = new Map<string, DescribedFile>();
  private readonly serviceNames: string[] = [];
  /** Maps the full name of each declared symbol to the name of its file. */
  private readonly symbols = new Map<string, string>();
  /** Maps the full name of each message type to its extensions, and each extension's number to the declaring file. */
  private readonly extensions = new Map<string, Map<number, string>>();

  /** @param fileDescriptorSet a serialized google.protobuf.FileDescriptorSet that includes all imports */
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

  /** Returns the numbers of all extensions of a message type. Undefined: the message type does not exist. */
  extensionNumbers(messageType: string): readonly number[] | undefined {
    const extensions = this.extensions.get(messageType);
    return extensions && [...extensions.keys()];
  }

  /**
   * Returns a file and then all its imports, so that a client needs no further request to link them. Imports in `sent`
   * are left out. Returned imports are added to `sent`. Undefined: the file does not exist.
   */
  withImports(fileName: string, sent: Set<string>): Buffer[] | undefined {
    const file = this.files.get(fileName);
    if (file === undefined) return undefined;
    sent.add(fileName);
    const found = [file];
    // The loop appends to `found`, so the imports of imports are included.
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
    // In protobuf the values of an enum are its siblings, not its children.
    for (const value of enumeration.value) this.symbols.set(scope + value.name, file);
  }

  private addExtension(file: string, scope: string, extension: FieldDescriptorProto): void {
    this.symbols.set(scope + extension.name, file);
    // The compiler writes full type names with a leading dot.
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
