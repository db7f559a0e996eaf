import type { ServerHttp2Session } from 'node:http2';
import type { ServerInterceptingCall, ServerInterceptingCallInterface } from '@grpc/grpc-js';
import type { CallStatus } from '../errors';
import { incomingCall } from './grpc-internals';

interface Method {
  readonly path: string;
  /** Whether the server answers with a stream of messages. */
  readonly responseStream: boolean;
}

export class OpenCalls {
  private readonly ofSession = new WeakMap<object, Map<ServerInterceptingCallInterface, Method>>();

  /** An interceptor of grpc-js, which sees every call of the server. */
  readonly interceptor = (method: Method, call: ServerInterceptingCallInterface): ServerInterceptingCall => {
    const { stream } = incomingCall(call);
    // A stream without a session is closed already.
    if (stream.session !== undefined) {
      const calls = this.callsOf(stream.session);
      calls.set(call, method);
      stream.on('close', () => calls.delete(call));
    }
    return call as ServerInterceptingCall;
  };

  /**
   * Ends the calls of a connection for which there is a status. The handlers are informed immediately, even if no
   * status can reach the client.
   */
  end(session: ServerHttp2Session, statusFor: (method: Method) => CallStatus | undefined): void {
    for (const [call, method] of this.callsOf(session)) {
      const status = statusFor(method);
      if (status === undefined) continue;
      call.sendStatus(status);
      // grpc-js does not send a second status, but cancels the call for its handler.
      call.sendStatus(status);
    }
  }

  private callsOf(session: object): Map<ServerInterceptingCallInterface, Method> {
    let calls = this.ofSession.get(session);
    if (calls === undefined) this.ofSession.set(session, (calls = new Map()));
    return calls;
  }
}
