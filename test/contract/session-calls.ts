import type { Client, Metadata, ServiceError } from '@grpc/grpc-js';
import { AcquireLockRequest } from '../../generated/typescript/holdfast/v1/lock_service';
import {
  type OpenSessionRequest,
  SessionStart,
  SessionServiceService,
  type OpenSessionResponse,
  type SessionCommand,
} from '../../generated/typescript/holdfast/v1/session_service';
import { UUID_V4 } from './harness';
import type { Outcome } from './policy-harness';

type Command = NonNullable<SessionCommand['command']>;

/** The first request of a session. */
export const sessionStart: OpenSessionRequest = {
  start: SessionStart.create({ clientId: UUID_V4, sessionNumber: 1n }),
  heartbeatId: 1n,
  commands: [],
};

/** The first request of a session, with an acquire. */
export const sessionWithLock: OpenSessionRequest = {
  ...sessionStart,
  commands: numbered([
    { $case: 'acquireLock', value: AcquireLockRequest.create({ name: 'hello', requestId: UUID_V4 }) },
  ]),
};

function numbered(commands: readonly Command[]): SessionCommand[] {
  return commands.map((command, index) => ({ commandId: BigInt(index + 1), command }));
}

/** Opens a session, sends these commands, and ends the session when each command has its end. */
export function callSession(
  client: Client,
  commands: readonly Command[],
  metadata: Metadata,
): Promise<Outcome> {
  const { path, requestSerialize, responseDeserialize } = SessionServiceService.openSession;
  const stream = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, metadata);
  const answers: OpenSessionResponse[] = [];
  return new Promise((resolve) => {
    stream.on('error', (error: ServiceError) => resolve({ answers, error }));
    stream.on('data', (answer: OpenSessionResponse) => {
      answers.push(answer);
      if (!isAnswered(answers, commands)) return;
      resolve({ answers, error: undefined });
      // HTTP/2 ends the connection of a client that cancels a thousand streams.
      stream.end();
    });
    stream.write(sessionStart);
    stream.write({ start: undefined, heartbeatId: 2n, commands: numbered(commands) });
  });
}

/** A cancel has no event of its own, so the answer to the heartbeat of its message counts. */
function isAnswered(answers: readonly OpenSessionResponse[], commands: readonly Command[]): boolean {
  const answered = new Set(answers.flatMap(({ events }) => events.map(({ commandId }) => commandId)));
  return (
    answers.some(({ heartbeatId }) => heartbeatId === 2n) &&
    numbered(commands).every(
      ({ commandId, command }) => command?.$case === 'cancel' || answered.has(commandId),
    )
  );
}
