import type { EventEmitter } from 'node:events';
import type {
  handleBidiStreamingCall,
  handleClientStreamingCall,
  handleServerStreamingCall,
  handleUnaryCall,
  Metadata,
  sendUnaryData,
  ServerDuplexStream,
  ServerReadableStream,
  ServerUnaryCall,
  ServerWritableStream,
} from '@grpc/grpc-js';
import type { Call } from '../../engine/call';
import type { Clock } from '../../engine/clock';
import { HoldfastError } from '../../engine/errors';
import type { Access } from '../access/access';
import type { AuditedAct } from '../access/audited-acts';
import { CallPermissions, type CheckedCall, type MissingPermission } from '../access/authorization';
import type { CallControl } from '../access/call-control';
import type { Caller } from '../access/caller';
import { endedCredential } from '../access/credential-errors';
import type { EndableCall, OpenCall } from '../access/open-credentials';
import { toCallStatus, type CallStatus } from './errors';
import { connectionOf, endCall, peerCertificateOf } from './grpc-internals';
import type { Log } from './log';
import { RequestReader } from './request-reader';

/** Bound of the header names and values of one call, in total. */
export const MAX_HEADER_BYTES = 16_384;

const RETRY_HEADER = 'grpc-previous-rpc-attempts';

export interface CallContext {
  readonly clock: Clock;
  readonly log: Log;
  /** Proves the caller of each call. Undefined: this server does not authenticate callers. */
  readonly access?: Access | undefined;
  /** Undefined: every caller may do everything, and nothing is audited. */
  readonly control?: CallControl | undefined;
}

/** A call as handlers see it. */
export interface HandledCall extends Call {
  /**
   * Checks the names of one message. Throws NOT_ALLOWED. The wrapper checks the request of a call with one message. The
   * handler of a call that reads a stream must pass each message before its use.
   */
  checkNames(message: unknown): void;
  /** Whether the caller may see a name of the call's service. */
  mayRead(name: string): boolean;
}

export type UnaryHandler<Request, Response> = (request: Request, call: HandledCall) => Promise<Response>;

/** Writes all messages, then resolves or rejects. The stream ends with OK or with the error. */
export type StreamHandler<Request, Message> = (
  request: Request,
  call: HandledCall,
  stream: ServerWritableStream<Request, Message>,
) => Promise<void>;

export type ClientStreamHandler<Request, Response> = (
  requests: RequestReader<Request>,
  call: HandledCall,
) => Promise<Response>;

/** Like a StreamHandler, but also reads the client's messages from the stream. */
export type BidiHandler<Request, Message> = (
  stream: ServerDuplexStream<Request, Message>,
  call: HandledCall,
) => Promise<void>;

type StreamingCall = ServerWritableStream<unknown, unknown> | ServerDuplexStream<unknown, unknown>;
type SingleAnswerCall = ServerUnaryCall<unknown, unknown> | ServerReadableStream<unknown, unknown>;
type GrpcCall = StreamingCall | SingleAnswerCall;

/**
 * Wraps a unary handler. The wrapper answers exactly once and catches every error. An error that reaches grpc-js would
 * leave the call without an answer and end the process.
 */
export function unary<Request, Response>(
  context: CallContext,
  handler: UnaryHandler<Request, Response>,
): handleUnaryCall<Request, Response> {
  return (grpcCall, callback) =>
    void serveSingle(context, grpcCall, callback, (call) => {
      call.checkNames(grpcCall.request);
      return handler(grpcCall.request, call);
    });
}

/** Wraps a handler that reads a stream of messages and answers once. */
export function clientStream<Request, Response>(
  context: CallContext,
  handler: ClientStreamHandler<Request, Response>,
): handleClientStreamingCall<Request, Response> {
  return (grpcCall, callback) =>
    void serveSingle(context, grpcCall, callback, (call) => handler(new RequestReader(grpcCall), call));
}

async function serveSingle<Response>(
  context: CallContext,
  grpcCall: SingleAnswerCall,
  callback: sendUnaryData<Response>,
  handle: (call: ServedCall) => Promise<Response>,
): Promise<void> {
  const call = new ServedCall(grpcCall, context);
  let response: Response;
  try {
    checkHeaderSize(grpcCall.metadata);
    if (context.access !== undefined) await call.prove(context.access);
    response = await handle(call);
  } catch (error) {
    call.end();
    call.auditOutcome(error instanceof HoldfastError ? error.reason : 'INTERNAL');
    sendAnswer(context, grpcCall, () => callback(toCallStatus(error, grpcCall.getPath(), context.log)));
    return;
  }
  call.end();
  call.auditOutcome('OK');
  sendAnswer(context, grpcCall, () => callback(null, response));
}

/** Wraps a handler that reads one message and answers with a stream. */
export function serverStream<Request, Message>(
  context: CallContext,
  handler: StreamHandler<Request, Message>,
): handleServerStreamingCall<Request, Message> {
  return (grpcCall) =>
    void serveStream(context, grpcCall, (call) => {
      call.checkNames(grpcCall.request);
      return handler(grpcCall.request, call, grpcCall);
    });
}

/** Wraps a handler that reads a stream and answers with a stream. The first read waits for the listener of 'data'. */
export function bidi<Request, Message>(
  context: CallContext,
  handler: BidiHandler<Request, Message>,
): handleBidiStreamingCall<Request, Message> {
  return (grpcCall) => void serveStream(context, grpcCall, (call) => handler(grpcCall, call));
}

async function serveStream(
  context: CallContext,
  grpcCall: StreamingCall,
  handle: (call: ServedCall) => Promise<void>,
): Promise<void> {
  const call = new ServedCall(grpcCall, context);
  let failure: CallStatus | undefined;
  try {
    checkHeaderSize(grpcCall.metadata);
    if (context.access !== undefined) await call.prove(context.access);
    // A cancelled call must not reach the handler, because a hold stream supersedes an older stream. After a pause of
    // the process, grpc-js reports a call first and its cancellation one turn of the event loop later.
    await new Promise(setImmediate);
    if (!grpcCall.cancelled) await handle(call);
  } catch (error) {
    failure = toCallStatus(error, grpcCall.getPath(), context.log);
  }
  call.end();
  sendAnswer(context, grpcCall, () => {
    // grpc-js turns an 'error' event into the stream's status, and sends the status after all written messages.
    if (failure === undefined) grpcCall.end();
    else grpcCall.emit('error', failure);
  });
}

/** Passes the answer to grpc-js. An error of grpc-js cannot reach the client, so the error is logged. */
function sendAnswer(context: CallContext, grpcCall: GrpcCall, answer: () => void): void {
  try {
    answer();
  } catch (error) {
    context.log.error({ err: error, method: grpcCall.getPath() }, 'the answer could not be sent');
  }
}

function checkHeaderSize(metadata: Metadata): void {
  let bytes = 0;
  const headers = metadata.toJSON();
  for (const name in headers) {
    for (const value of headers[name] ?? []) bytes += name.length + value.length;
  }
  if (bytes <= MAX_HEADER_BYTES) return;
  throw new HoldfastError(
    'QUOTA_EXCEEDED',
    `the call's headers are ${bytes} bytes; at most ${MAX_HEADER_BYTES} are accepted; send less metadata`,
    { metadata: { limit: String(MAX_HEADER_BYTES) } },
  );
}

/** The engine's view of a gRPC call. Fields that few calls need are computed on first use. */
class ServedCall implements HandledCall, EndableCall, CheckedCall {
  readonly receivedAt: number;
  readonly timeoutMs: number | undefined;
  identity = '';
  private permissions: CallPermissions | undefined;
  private act: AuditedAct | undefined;
  private whenNotAllowed: (() => void) | undefined;
  private openCall: OpenCall | undefined;
  private knownConnection: object | undefined;
  private answered = false;

  constructor(
    private readonly grpcCall: GrpcCall,
    private readonly context: CallContext,
  ) {
    this.receivedAt = context.clock.now();
    // grpc-js keeps the deadline as a time of day. The timeout is computed now, before the wall clock can step.
    const deadline = grpcCall.getDeadline();
    this.timeoutMs = deadline === Infinity ? undefined : Number(deadline) - Date.now();
  }

  get connection(): object {
    // A closed stream has no known connection, so a new object takes the place of the connection.
    this.knownConnection ??= connectionOf(this.grpcCall) ?? {};
    return this.knownConnection;
  }

  get transportRetry(): boolean {
    return this.grpcCall.metadata.get(RETRY_HEADER).length > 0;
  }

  get hidesHolders(): boolean {
    return this.permissions?.hidesHolders ?? false;
  }

  get cancelled(): boolean {
    return this.grpcCall.cancelled && !this.answered;
  }

  onCancelled(listener: () => void): void {
    const run = (): void => {
      // grpc-js emits 'cancelled' after every call, also after an answered call.
      if (this.answered) return;
      try {
        listener();
      } catch (error) {
        const method = this.grpcCall.getPath();
        this.context.log.error({ err: error, method }, 'the listener of a cancelled call failed');
      }
    };
    if (this.grpcCall.cancelled) run();
    else (this.grpcCall as EventEmitter).once('cancelled', run);
  }

  onNotAllowed(listener: () => void): void {
    this.whenNotAllowed = listener;
  }

  checkNames(message: unknown): void {
    const { control } = this.context;
    const rule = control?.rules.get(this.grpcCall.getPath());
    if (control === undefined || rule === undefined) return;
    const { authorization } = control;
    if (authorization !== undefined) {
      if (this.permissions === undefined) {
        this.permissions = new CallPermissions(authorization, rule, this);
        authorization.add(this.permissions);
      }
      this.permissions.check(message);
    }
    this.act = rule.actOf?.(message) ?? this.act;
  }

  mayRead(name: string): boolean {
    return this.permissions?.mayRead(name) ?? true;
  }

  /** Writes the audit line of an act. An invalid request does nothing, and a refused call has its own line. */
  auditOutcome(outcome: string): void {
    if (this.act === undefined || outcome === 'INVALID_FIELD' || outcome === 'NOT_ALLOWED') return;
    this.context.control?.audit.act(this.audited(), this.act, outcome);
  }

  private audited() {
    const { grpcCall, identity } = this;
    return { identity, method: grpcCall.getPath(), peer: () => grpcCall.getPeer() };
  }

  /** The caller lacks a permission. After a reload of the policy, an open call ends. */
  permissionMissing(missing: MissingPermission, afterReload: boolean): void {
    const { grpcCall, context, whenNotAllowed } = this;
    const { service, verb, name, error } = missing;
    context.control?.audit.refused(this.audited(), { service, verb, name, outcome: 'NOT_ALLOWED' });
    if (!afterReload) return;
    if (whenNotAllowed !== undefined) whenNotAllowed();
    else endCall(grpcCall, toCallStatus(error, grpcCall.getPath(), context.log));
  }

  /** Sets the identity. Throws, or rejects, if the caller is not proven. Makes no promise if the credential is known. */
  prove(access: Access): Promise<void> | undefined {
    const { grpcCall, connection } = this;
    const caller = access.prove({
      authorization: grpcCall.metadata.get('authorization') as string[],
      connection,
      peerCertificate: () => peerCertificateOf(connection),
      method: () => grpcCall.getPath(),
      peer: () => grpcCall.getPeer(),
    });
    if (caller instanceof Promise) return caller.then((found) => this.proven(found, access));
    this.proven(caller, access);
    return undefined;
  }

  private proven(caller: Caller, access: Access): void {
    this.identity = caller.identity;
    this.openCall = access.open.add(caller, this);
  }

  /** A stream or a wait must not outlive the credential of its caller. Leases that were granted continue. */
  credentialEnded(): void {
    const { grpcCall, context } = this;
    endCall(grpcCall, toCallStatus(endedCredential(), grpcCall.getPath(), context.log));
  }

  /** Marks the end of the handler. After the end, a 'cancelled' event is no cancellation. */
  end(): void {
    this.answered = !this.grpcCall.cancelled;
    if (this.permissions !== undefined) this.context.control?.authorization?.delete(this.permissions);
    this.openCall?.close();
  }
}
