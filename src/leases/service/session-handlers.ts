import type { handleBidiStreamingCall } from '@grpc/grpc-js';
import {
  OpenSessionResponse,
  SessionServiceService,
} from '../../../generated/typescript/holdfast/v1/session_service';
import { defaultSessionLimits } from '../sessions/session-requests';
import { serializer } from '../../rpc/serialize';
import type { Limits } from '../limits';
import type { Sessions } from '../sessions/sessions';
import { bidi, type CallContext } from '../../rpc/handlers';
import type { FailureCounts } from '../../rpc/entry/failure-counts';
import { SessionCommands } from './session-commands';
import { CommandTurns } from '../../flow/command-turns';
import { SessionConversation } from './session-conversation';
import { readSessionRequest, type SessionRequest } from './session-request';

/** The generated SessionService, with commands that are decoded when they begin, and a faster serializer. */
export const sessionServiceDefinition = {
  openSession: {
    ...SessionServiceService.openSession,
    requestDeserialize: readSessionRequest,
    responseSerialize: serializer(OpenSessionResponse),
  },
};

/** The bound of a request message, by path. */
export const SESSION_REQUEST_BYTES: ReadonlyMap<string, number> = new Map([
  [SessionServiceService.openSession.path, defaultSessionLimits.maxMessageBytes],
]);

export function sessionHandlers(
  context: CallContext,
  sessions: Sessions,
  limits: Limits,
  failures: FailureCounts,
): { readonly openSession: handleBidiStreamingCall<SessionRequest, OpenSessionResponse> } {
  const turns = new CommandTurns(context.clock);
  const commands = new SessionCommands(context, limits);
  return {
    openSession: bidi<SessionRequest, OpenSessionResponse>(
      context,
      (stream, call) =>
        new SessionConversation({ stream, call, context, sessions, commands, turns, failures }).run(),
      { countsItself: true },
    ),
  };
}
