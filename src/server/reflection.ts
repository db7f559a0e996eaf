import type {
  DescriptorProto,
  EnumDescriptorProto,
  FieldDescriptorProto,
  FileDescriptorProto,
} from '@bufbuild/protobuf/wkt';
import { type ServerDuplexStream, type ServiceDefinition, status } from '@grpc/grpc-js';
import {
  ServerReflectionService as ReflectionV1,
  type ServerReflectionRequest,
  type ServerReflectionResponse,
  type ServerReflectionServer,
} from '../../generated/typescript/grpc/reflection/v1/reflection';
import { ServerReflectionService as ReflectionV1Alpha } from '../../generated/typescript/grpc/reflection/v1alpha/reflection';
import type { DescribedFile } from '../access/verbs';
import type { Log } from '../base/log';
import { admit, OpenStreams } from '../rpc/open-streams';
import type { OfferedService, OpenRows } from '../rpc/service';

interface KnownFile {
  readonly imports: readonly string[];
  /** A serialized google.protobuf.FileDescriptorProto. */
  readonly bytes: Buffer;
}

/** The proto files of the server's API, indexed by the symbols that they declare. */
export class Descriptors {
  private readonly files = new Map<string, KnownFile>();
  private readonly serviceNames: string[] = [];
  /** Maps the full name of each declared symbol to the name of its file. */
  private readonly symbols = new Map<string, string>();
  /** Maps the full name of each message type to its extensions, and each extension's number to the declaring file. */
  private readonly extensions = new Map<string, Map<number, string>>();

  /** @param described with all imports */
  constructor(described: readonly DescribedFile[]) {
    for (const { file, bytes } of described) {
      this.files.set(file.name, { imports: file.dependency, bytes: Buffer.from(bytes) });
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

/** A stream needs no credential. A tool opens one stream. An answer that is not read takes up to 100 kB. */
const MAX_STREAMS = 64;
/** So that idle streams of one client keep no other out. */
const SHARE = { of: 'address', limit: 16 } as const;

type ReflectionStream = ServerDuplexStream<ServerReflectionRequest, ServerReflectionResponse>;
type Question = ServerReflectionRequest['messageRequest'];
type Answer = NonNullable<ServerReflectionResponse['messageResponse']>;

/**
 * The reflection service, so that grpcurl, buf curl and Postman need no proto files. Versions v1 and v1alpha are equal
 * on the wire and share the row. The package @grpc/reflection is not used, because it omits imported files.
 */
export class Reflection {
  readonly services: readonly OfferedService[];
  private readonly streams = new Set<ReflectionStream>();
  private readonly open = new OpenStreams(MAX_STREAMS, 'reflection streams', SHARE);

  constructor(
    private readonly descriptors: Descriptors,
    private readonly log: Log,
  ) {
    const rows: OpenRows<typeof ReflectionV1, ServerReflectionServer> = {
      serverReflectionInfo: { load: 'low', serve: (stream) => this.serve(stream) },
    };
    this.services = [ReflectionV1, ReflectionV1Alpha].map((definition: ServiceDefinition) => ({
      definition,
      rows,
    }));
  }

  /** Ends all streams, because a server can only stop when no stream keeps a connection open. */
  endStreams(): void {
    for (const stream of this.streams) {
      stream.emit('error', {
        code: status.UNAVAILABLE,
        details: 'the server is shutting down',
      });
    }
    this.streams.clear();
  }

  private serve(stream: ReflectionStream): void {
    if (!admit(this.open, stream)) return;
    const sent = new Set<string>();
    this.streams.add(stream);
    stream.once('cancelled', () => this.streams.delete(stream));
    stream.on('end', () => {
      this.streams.delete(stream);
      stream.end();
    });
    stream.on('data', (request: ServerReflectionRequest) => {
      // A message after the status would break the stream.
      if (!this.streams.has(stream)) return;
      try {
        // The server reads no further request until the client has read its answers.
        if (!stream.write(this.respond(request, sent))) stream.pause();
      } catch (error) {
        this.log.error({ err: error }, 'reflection failed');
        this.streams.delete(stream);
        stream.emit('error', {
          code: status.INTERNAL,
          details: 'reflection failed',
        });
      }
    });
    stream.on('drain', () => stream.resume());
  }

  private respond(request: ServerReflectionRequest, sent: Set<string>): ServerReflectionResponse {
    return {
      validHost: request.host,
      originalRequest: request,
      messageResponse: this.answer(request.messageRequest, sent),
    };
  }

  private answer(question: Question, sent: Set<string>): Answer {
    switch (question?.$case) {
      case 'listServices': {
        const service = this.descriptors.services.map((name) => ({ name }));
        return { $case: 'listServicesResponse', value: { service } };
      }
      case 'fileByFilename':
        return this.file(question.value, sent);
      case 'fileContainingSymbol':
        return this.file(this.descriptors.fileOfSymbol(question.value), sent);
      case 'fileContainingExtension': {
        const { containingType, extensionNumber } = question.value;
        return this.file(this.descriptors.fileOfExtension(containingType, extensionNumber), sent);
      }
      case 'allExtensionNumbersOfType': {
        const numbers = this.descriptors.extensionNumbers(question.value);
        if (numbers === undefined) return failure(status.NOT_FOUND, 'the message type does not exist');
        const value = {
          baseTypeName: question.value,
          extensionNumber: [...numbers],
        };
        return { $case: 'allExtensionNumbersResponse', value };
      }
      default:
        return failure(status.INVALID_ARGUMENT, 'the request has no known question');
    }
  }

  private file(name: string | undefined, sent: Set<string>): Answer {
    const files = name === undefined ? undefined : this.descriptors.withImports(name, sent);
    if (files === undefined) return failure(status.NOT_FOUND, 'this server has no descriptor of this name');
    return {
      $case: 'fileDescriptorResponse',
      value: { fileDescriptorProto: files },
    };
  }
}

function failure(errorCode: status, errorMessage: string): Answer {
  return { $case: 'errorResponse', value: { errorCode, errorMessage } };
}
