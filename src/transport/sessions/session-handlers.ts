import {
  OpenSessionRequest,
  OpenSessionResponse,
  SessionServiceService,
  type SessionServiceServer,
} from '../../../generated/typescript/holdfast/v1/session_service';
import { defaultSessionLimits } from '../../engine/sessions/session-requests';
import { serializer } from '../../wire/serialize';
import type { Limits } from '../../engine/leases/limits';
import type { Sessions } from '../../engine/sessions/sessions';
import { boundedDecoder, type ListBounds } from '../grpc/bounded-decoding';
import { bidi, type CallContext } from '../grpc/call';
import { SessionCommands } from './session-commands';
import { CommandTurns } from './command-turns';
import { SessionConversation } from './session-conversation';

/** The list `commands` of a request. One command above the bound is decoded, and ends the session. */
const REQUEST_LISTS: ListBounds = new Map([[3, { maxItems: defaultSessionLimits.maxCommandCount }]]);

/** The generated SessionService, with a bounded decoder and a faster serializer. */
export const sessionServiceDefinition = {
  openSession: {
    ...SessionServiceService.openSession,
    requestDeserialize: boundedDecoder(OpenSessionRequest, REQUEST_LISTS),
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
): SessionServiceServer {
  const turns = new CommandTurns();
  const commands = new SessionCommands(context, limits);
  return {
    openSession: bidi<OpenSessionRequest, OpenSessionResponse>(
      context,
      (stream, call) => new SessionConversation({ stream, call, context, sessions, commands, turns }).run(),
      { countsItself: true },
    ),
  };
}
