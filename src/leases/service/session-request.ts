import { BinaryReader } from '@bufbuild/protobuf/wire';
import {
  SessionCommand as CommandMessage,
  SessionStart,
} from '../../../generated/typescript/holdfast/v1/session_service';
import { defaultSessionLimits } from '../sessions/session-requests';
import { FieldWalk } from '../../rpc/decoding';
import { Violations } from '../../rpc/fields';

/**
 * Reads the requests of sessions. The decoding of a request of 1 MiB takes 6 ms, so `start` and the heartbeat are
 * decoded immediately, and each command when it begins.
 */

/**
 * The bound of a command and of `start`, in bytes. The longest valid command has less than 5,200 bytes. A message of
 * this size is decoded in half a millisecond once the code is compiled.
 */
export const MOST_PART_BYTES = 8192;

/**
 * Sixteen fields for each command of a full request. A valid command has two fields. The other fields are reserved
 * for later versions.
 */
const MOST_FIELDS = 16_384;

const START = 10;
const HEARTBEAT_ID = 16;
const COMMANDS = 26;
const COMMAND_ID = 8;

type Kind = NonNullable<CommandMessage['command']>['$case'];

/** The tags of the known kinds of commands, with the names of their fields. */
const KINDS: Readonly<Record<Kind, readonly [tag: number, field: string]>> = {
  acquireLock: [18, 'acquire_lock'],
  acquirePermits: [26, 'acquire_permits'],
  attach: [34, 'attach'],
  release: [42, 'release'],
  update: [50, 'update'],
  cancel: [58, 'cancel'],
};
const FIELDS: ReadonlyMap<number, string> = new Map(Object.values(KINDS));

/** A request of a session. Its commands are not decoded. */
export interface SessionRequest {
  readonly start: SessionStart | undefined;
  /** Above `MOST_PART_BYTES`: `start` is not decoded, and is empty. */
  readonly startBytes: number;
  readonly heartbeatId: bigint;
  /** One command above the bound is read, and ends the session. */
  readonly commands: readonly EncodedCommand[];
  /** The bytes of the request, which stay in memory until no command of the request is left. */
  readonly byteLength: number;
}

/** A command as its client has sent it. */
export class EncodedCommand {
  /**
   * @param field the field of the command's kind. Undefined: this server does not know the kind.
   * @param request the bytes of the whole request. The command has those from `begin` to `end`.
   */
  constructor(
    readonly commandId: bigint,
    private readonly field: string | undefined,
    private readonly request: Buffer,
    private readonly begin: number,
    private readonly end: number,
  ) {}

  /** Returns undefined for bytes that are not a command. Throws INVALID_FIELD for a command that is too long. */
  decode(): CommandMessage | undefined {
    const { commandId, field, request, begin, end } = this;
    if (field === undefined) return { commandId, command: undefined };
    checkPartBytes(field, end - begin);
    const message = decodeWhole(CommandMessage, request.subarray(begin, end));
    // The generated code reads the fields of a malformed message from other places.
    return message?.commandId === commandId ? message : undefined;
  }
}

/** Undefined: the bytes are not a message of this type. The generated code may stop before the end of such bytes. */
function decodeWhole<Message>(
  { decode }: { decode(input: BinaryReader): Message },
  bytes: Buffer,
): Message | undefined {
  const reader = new BinaryReader(bytes);
  try {
    const message = decode(reader);
    return reader.pos === reader.len ? message : undefined;
  } catch {
    return undefined;
  }
}

/** Throws INVALID_FIELD for a command or a `start` that is too long. */
export function checkPartBytes(field: string, bytes: number): void {
  if (bytes <= MOST_PART_BYTES) return;
  const violations = new Violations();
  violations.add(field, `has ${bytes} bytes; at most ${MOST_PART_BYTES} are accepted`);
  violations.throw();
}

/**
 * Reads a request as the generated code does, in less than a millisecond. Throws for bytes that are not a request,
 * and for more fields than any client writes. Also throws if the last field of a command does not end at the end of
 * the command.
 */
export function readSessionRequest(bytes: Buffer): SessionRequest {
  const walk = new FieldWalk(bytes, MOST_FIELDS);
  const { reader } = walk;
  let start: SessionStart | undefined;
  let startBytes = 0;
  let heartbeatId = 0n;
  const commands: EncodedCommand[] = [];
  while (reader.pos < bytes.length && commands.length <= defaultSessionLimits.maxCommandCount) {
    const tag = walk.tag();
    if (tag === undefined) break;
    if (tag === START) {
      // A merge of two starts has no meaning, and a thousand starts would take long.
      if (start !== undefined) throw new Error('the request has two starts');
      const end = endOfPart(reader);
      startBytes = end - reader.pos;
      start = readStart(bytes.subarray(reader.pos, end));
      reader.pos = end;
    } else if (tag === HEARTBEAT_ID) heartbeatId = reader.int64() as bigint;
    else if (tag === COMMANDS) commands.push(readCommand(walk, bytes));
    else walk.skip(tag);
  }
  return { start, startBytes, heartbeatId, commands, byteLength: bytes.length };
}

function readStart(bytes: Buffer): SessionStart {
  if (bytes.length > MOST_PART_BYTES) return SessionStart.create();
  const start = decodeWhole(SessionStart, bytes);
  if (start === undefined) throw new Error('start is not a message');
  return start;
}

function readCommand(walk: FieldWalk, bytes: Buffer): EncodedCommand {
  const { reader } = walk;
  const end = endOfPart(reader);
  const begin = reader.pos;
  let commandId = 0n;
  let field: string | undefined;
  while (reader.pos < end) {
    const tag = walk.tag();
    if (tag === undefined) break;
    if (tag === COMMAND_ID) commandId = reader.int64() as bigint;
    else {
      field = FIELDS.get(tag) ?? field;
      walk.skip(tag);
    }
  }
  if (reader.pos !== end) throw new Error('a command does not end where its last field ends');
  return new EncodedCommand(commandId, field, bytes, begin, end);
}

/** Reads the length of a nested message. Returns the position after the message. */
function endOfPart(reader: BinaryReader): number {
  const length = reader.uint32();
  const end = reader.pos + length;
  if (end > reader.len) throw new RangeError('the message is cut short');
  return end;
}
