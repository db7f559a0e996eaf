import type {
  MethodDefinition,
  ServerDuplexStream,
  ServerWritableStream,
  ServiceDefinition,
  UntypedHandleCall,
} from '@grpc/grpc-js';
import type { AuditedAct } from '../access/audit';
import type { CallRule, CheckNames, EVERY_RIGHT, NamedByCommand } from '../access/authorization';
import type { Verb } from '../access/policy';
import { type DescribedCall, describedCalls, type DescribedFile } from '../access/verbs';
import type { StreamCall } from '../base/call';
import type { CallTrace } from '../base/log';
import type { ReadableNames } from '../base/names';
import type { Priority } from '../flow/fair-queue';
import type { ErrorSummary } from './call-errors';
import type { CallKind } from './entry/arrival';
import type { RequestReader } from './streams';

/**
 * A service is a value: its definition, and a row for each call. Nothing else in the house knows the call, except the
 * contract, which has its verb (`required_verb`).
 */
export interface OfferedService {
  readonly definition: ServiceDefinition;
  readonly rows: Readonly<Record<string, Row>>;
  /** What its names are the names of, such as `lock`, for texts. Undefined: its calls name only the server. */
  readonly kind?: string;
  /** True: NOT_SERVING while the server loads what belongs to its start. */
  readonly isLoadedAtStart?: boolean;
}

/** The full name of a service, such as `holdfast.v1.LockService`. */
export function nameOf({ definition }: OfferedService): string {
  const [{ path } = { path: '' }] = Object.values(definition);
  return path.split('/')[1] ?? '';
}

/** What the house knows about a call, whatever its kind. */
interface KnownCall<Request, Response> {
  /**
   * Requires the contract's verb for each name in a request, and changes nothing in the request. The handler of a call
   * that reads a stream passes each message.
   */
  readonly names: CheckNames<Request>;
  /** Who goes first when the server is busy. 'high': work on leases that exist. */
  readonly load: Priority;
  /** True: no quota refuses the request, because a refusal would lose a lease. Default: quotas apply. */
  readonly keepsLease?: (request: Request) => boolean;
  /** Undefined: the audit log has no line about the request. */
  readonly audit?: (request: Request) => AuditedAct | undefined;
  /**
   * The longest request message, if MAX_REQUEST_BYTES is too short. The gate then proves the caller before the request
   * is received.
   */
  readonly bytes?: number;
  /** In place of the generated serializer. */
  readonly answer?: (response: Response) => Buffer;
}

export interface UnaryRow<Request, Response> extends KnownCall<Request, Response> {
  readonly handle: (request: Request, call: HandledCall) => Promise<Response>;
}

/** Reads one message and answers with a stream: writes all messages, then resolves or rejects. */
export interface WatchRow<Request, Response> extends KnownCall<Request, Response> {
  readonly handle: (
    request: Request,
    call: HandledCall,
    stream: ServerWritableStream<Request, Response>,
  ) => Promise<void>;
}

/** Reads a stream and answers once. */
export interface UploadRow<Request, Response> extends KnownCall<Request, Response> {
  readonly handle: (requests: RequestReader<Request>, call: HandledCall) => Promise<Response>;
}

/** Reads a stream and answers with a stream. The first read waits for the listener of 'data'. */
export interface ConversationRow<Request, Response> extends KnownCall<Request, Response> {
  readonly handle: (stream: ServerDuplexStream<Request, Response>, call: HandledCall) => Promise<void>;
  /** True: the handler counts its calls for the quotas, because its first message is needed to do so. */
  readonly countsItself?: boolean;
  /**
   * True: the client moves the stream to another connection by itself, so the stream continues after its connection has
   * reached its maximum age.
   */
  readonly moves?: boolean;
}

/** A call that needs no credential and names nothing. Its handler answers grpc-js itself. */
export interface OpenRow<Handler = UntypedHandleCall> {
  readonly serve: Handler;
  readonly load: Priority;
  /** True: a health check, which is urgent without a credential, because a busy server must not seem to be dead. */
  readonly isProbe?: boolean;
}

type RowOfKind<RequestStream, ResponseStream, Request, Response> = RequestStream extends true
  ? ResponseStream extends true
    ? ConversationRow<Request, Response>
    : UploadRow<Request, Response>
  : ResponseStream extends true
    ? WatchRow<Request, Response>
    : UnaryRow<Request, Response>;

/** The row of a call. With `decode`, its requests are what `decode` makes of their bytes. */
type RowOf<Method> = Method extends MethodDefinition<infer Request, infer Response> & {
  readonly requestStream: infer RequestStream;
  readonly responseStream: infer ResponseStream;
}
  ? | (RowOfKind<RequestStream, ResponseStream, Request, Response> & { readonly decode?: undefined })
    | (RowOfKind<RequestStream, ResponseStream, never, Response> & { readonly decode: Decode })
  : never;
type Decode = (bytes: Buffer) => unknown;

/** A row for each call of a service. The compiler reports a call without one. */
export type Rows<Definition> = { readonly [Method in keyof Definition]: RowOf<Definition[Method]> };

/** A service whose rows others know by name. */
export interface ServiceRows<Definition extends ServiceDefinition> extends OfferedService {
  readonly definition: Definition;
  readonly rows: Rows<Definition>;
}

/** Rows of calls that need no credential. `Server` has the types of their handlers. */
export type OpenRows<Definition, Server extends { readonly [Method in keyof Definition]: unknown }> = {
  readonly [Method in keyof Definition]: OpenRow<Server[Method]>;
};

/** A row of any kind. */
export type KnownRow = KnownCall<never, never> & {
  readonly handle: (...given: never[]) => Promise<unknown>;
  readonly decode?: Decode | undefined;
};
export type Row = KnownRow | OpenRow;

/** A call of this server, with all that holds for each of its requests. The gate finds it by its path. */
export interface OfferedCall extends CallKind {
  readonly path: string;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
  readonly row: Row;
  /** Undefined: the call has no verb, so every proven caller may make the call, and nothing counts. */
  readonly rule: CallRule | undefined;
}

const CONTRACT = '/holdfast.v1.';

/**
 * The calls of all services, by path. Throws for a described call without a verb, because its caller would not be checked;
 * for a call that is described twice; and for two services with one name, because a policy could not tell them apart.
 */
export function offeredCalls(
  services: readonly OfferedService[],
  files: readonly DescribedFile[],
): ReadonlyMap<string, OfferedCall> {
  const described = byPath(describedCalls(files));
  const calls = services.flatMap(({ definition, rows, kind }) =>
    Object.entries(definition).map(([field, method]) => {
      const { path } = method;
      const row = rows[field] as Row;
      return offeredCall(method, row, ruleOf(path, row, kind, described.get(path)));
    }),
  );
  return new Map(calls.map((call) => [call.path, call]));
}

function offeredCall(
  { path, requestStream, responseStream }: ServiceDefinition[string],
  row: Row,
  rule: CallRule | undefined,
): OfferedCall {
  const isOpen = 'serve' in row;
  return {
    path,
    requestStream,
    responseStream,
    row,
    rule,
    hasRule: rule !== undefined,
    priority: row.load,
    unary: !requestStream && !responseStream,
    isOpen,
    isProbe: isOpen && row.isProbe === true,
    bytes: isOpen ? undefined : row.bytes,
    moves: 'moves' in row && row.moves === true,
  };
}

function byPath(calls: readonly DescribedCall[]): ReadonlyMap<string, DescribedCall> {
  const found = new Map<string, DescribedCall>();
  /** The full name of each service, by its name in a policy. */
  const owners = new Map<string, string>();
  for (const call of calls) {
    const { path, service } = call;
    const owner = path.slice(0, path.lastIndexOf('/'));
    if (found.has(path)) throw new Error(`the call ${path} is described twice`);
    if ((owners.get(service) ?? owner) !== owner) throw new Error(`two services have the name ${service}`);
    owners.set(service, owner);
    found.set(path, call);
  }
  return found;
}

/** A service without descriptors is of a test or a benchmark. */
function ruleOf(
  path: string,
  row: Row,
  kind: string | undefined,
  call: DescribedCall | undefined,
): CallRule | undefined {
  if (call === undefined && !path.startsWith(CONTRACT)) return undefined;
  if (call?.verb === undefined || 'serve' in row)
    throw new Error(`the call ${path} has no required_verb, or asks for no credential`);
  const { names, keepsLease, audit } = row;
  return { service: call.service, kind, verb: call.verb, names, keepsLease, audit };
}

/** What the caller of a request may ask for. */
export interface RequestRights {
  /** The longest ttl that the policy allows for the first name of the request (ms). Undefined: that of the server. */
  readonly maxTtlMs: number | undefined;
  may(verb: Verb, name: string): boolean;
}

/** A call as handlers see it. */
export interface HandledCall extends StreamCall, ReadableNames, RequestRights {
  /** The path of the call. */
  readonly method: string;
  /** The address of the client. */
  readonly peer: string;
  /** Read from the headers at each use. */
  readonly trace: CallTrace;
  /**
   * Checks the names of one message. Throws NOT_ALLOWED. The wrapper checks the request of a call with one message. The
   * handler of a call that reads a stream must pass each message before its use.
   */
  checkNames(message: unknown): void;
  /** The rights for a command in a message, which follows the row of the unary call that does the same. Throws NOT_ALLOWED. */
  rightsFor(row: object, named: NamedByCommand): typeof EVERY_RIGHT;
  /** Counts one message of a stream as a command of its caller. Throws QUOTA_EXCEEDED. */
  takeCommand(): void;
  /** Counts one message of a stream as a call, for the list of callers. */
  countCommand(): void;
  /**
   * The parts of an error for a message of a stream that continues. A defect is logged with the caller, and a refusal is
   * counted and audited.
   */
  summaryOf(error: unknown): ErrorSummary;
}
