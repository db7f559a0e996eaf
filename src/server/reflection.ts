import { status, type handleBidiStreamingCall, type ServerDuplexStream } from '@grpc/grpc-js';
import type {
  ServerReflectionRequest,
  ServerReflectionResponse,
} from '../../generated/typescript/grpc/reflection/v1/reflection';
import type { Descriptors } from './descriptors';
import type { Log } from '../base/log';
import { admit, OpenStreams } from '../rpc/open-streams';

/** A stream needs no credential. A tool opens one stream. An answer that is not read takes up to 100 kB. */
const MAX_STREAMS = 64;
/** So that idle streams of one client keep no other out. */
const SHARE = { of: 'address', limit: 16 } as const;

type ReflectionStream = ServerDuplexStream<ServerReflectionRequest, ServerReflectionResponse>;
type Question = ServerReflectionRequest['messageRequest'];
type Answer = NonNullable<ServerReflectionResponse['messageResponse']>;

/**
 * The reflection service, so that grpcurl, buf curl and Postman need no proto files. Versions v1 and v1alpha are equal
 * on the wire and share these handlers. The package @grpc/reflection is not used, because it omits imported files.
 */
export class Reflection {
  readonly handlers: {
    serverReflectionInfo: handleBidiStreamingCall<ServerReflectionRequest, ServerReflectionResponse>;
  };
  private readonly streams = new Set<ReflectionStream>();
  private readonly open = new OpenStreams(MAX_STREAMS, 'reflection streams', SHARE);

  constructor(
    private readonly descriptors: Descriptors,
    private readonly log: Log,
  ) {
    this.handlers = { serverReflectionInfo: (stream) => this.serve(stream) };
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
