import type { handleUnaryCall, sendUnaryData, ServerUnaryCall, ServiceError } from '@grpc/grpc-js';
import type { Behaviour } from './behaviour';
import { connectionOf, cutConnectionOf } from './connections';
import type { Records } from './records';
import type { SessionChecks } from './session-checks';
import { serviceError, statusSpec } from './status-spec';

export interface CallSurroundings {
  readonly server: string;
  readonly records: Records;
  readonly checks: SessionChecks;
  readonly behaviour: Behaviour;
}

type AnyCall = Pick<ServerUnaryCall<unknown, unknown>, 'metadata'>;

/** A refusal that a handler throws. */
export class Refusal extends Error {
  constructor(readonly status: ReturnType<typeof statusSpec>) {
    super(status.reason);
  }
}

export function refuse(reason: string): Refusal {
  return new Refusal(statusSpec(reason));
}

/** Records a call, checks its credential, and follows what the case says about the call. */
export class ServedCalls {
  constructor(private readonly around: CallSurroundings) {}

  /** A unary call. `nameOf` gives the lock, list or dictionary, which takeovers are chosen by. */
  unary<Request, Response>(
    method: string,
    nameOf: (request: Request) => string,
    serve: (request: Request) => Response,
  ): handleUnaryCall<Request, Response> {
    return (call, answer) => {
      this.begin(method, call, nameOf(call.request), call.request);
      const refused = this.credentialProblem(call);
      if (refused) return answer(refused);
      this.follow(method, nameOf(call.request), call, answer, () => serve(call.request));
    };
  }

  /** Undefined: the stream may go on. */
  stream(method: string, name: string, call: AnyCall, request: unknown): ServiceError | undefined {
    this.begin(method, call, name, request);
    const refused = this.credentialProblem(call);
    if (refused) return refused;
    const act = this.around.behaviour.takeovers.next(method, name);
    if (act?.kind === 'fail' || act?.kind === 'end') return serviceError(act.status);
    if (act?.kind === 'cut') cutConnectionOf(call);
    return undefined;
  }

  record(method: string, name: string, request: unknown): void {
    this.around.records.add(this.around.server, 'call', { method, name, request: plain(request) });
  }

  takeover(method: string, name: string) {
    return this.around.behaviour.takeovers.next(method, name);
  }

  credentialProblem({ metadata }: AnyCall): ServiceError | undefined {
    const { tokens } = this.around.behaviour;
    if (tokens === undefined) return undefined;
    const given = String(metadata.get('authorization')[0] ?? '');
    if (given === '') return serviceError(statusSpec('NO_CREDENTIAL'));
    return tokens.some((one) => given === `Bearer ${one}`)
      ? undefined
      : serviceError(statusSpec('BAD_CREDENTIAL'));
  }

  private begin(method: string, call: AnyCall, name: string, request: unknown): void {
    const connection = connectionOf(call);
    this.around.checks.call(connection);
    const authorization = String(call.metadata.get('authorization')[0] ?? '');
    const fields = { method, name, connection, authorization, request: plain(request) };
    this.around.records.add(this.around.server, 'call', fields);
  }

  private follow<Response>(
    method: string,
    name: string,
    call: AnyCall,
    answer: sendUnaryData<Response>,
    serve: () => Response,
  ): void {
    const act = this.takeover(method, name);
    const run = (): void => {
      try {
        const response = serve();
        if (act?.kind !== 'loseAnswer') answer(null, response);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        answer(serviceError(error.status));
      }
    };
    if (act?.kind === 'delay') setTimeout(run, act.ms);
    else if (act?.kind === 'fail' || act?.kind === 'end') answer(serviceError(act.status));
    else if (act?.kind === 'cut') cutConnectionOf(call);
    else if (act?.kind !== 'drop') run();
  }
}

/** A message without its bytes, for comparison and for the transcript. */
function plain(message: unknown): unknown {
  const text = JSON.stringify(message, (_, value: unknown) => {
    if (typeof value === 'bigint') return String(value);
    if (value instanceof Map) return Object.fromEntries(value);
    return value;
  });
  return text === undefined ? undefined : JSON.parse(text);
}
