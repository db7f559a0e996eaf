import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { Duration } from '../../generated/typescript/google/protobuf/duration';
import { durationToMs, msToDuration } from './times';

/** The trailer that carries a serialized google.rpc.Status. */
export const STATUS_DETAILS_TRAILER = 'grpc-status-details-bin';
/** Clients of Python and Java refuse trailers of more than 8 kB in all, base64 and message included. */
export const MAX_STATUS_DETAILS_BYTES = 4096;

const TYPE_URL = 'type.googleapis.com/';
const ERROR_INFO = `${TYPE_URL}google.rpc.ErrorInfo`;
const RETRY_INFO = `${TYPE_URL}google.rpc.RetryInfo`;
const BAD_REQUEST = `${TYPE_URL}google.rpc.BadRequest`;

export interface FieldViolation {
  readonly field: string;
  readonly description: string;
}

/** A google.rpc.Status with the details that Holdfast uses; details of other types are skipped. */
export interface StatusDetails {
  readonly code: number;
  /** The same text as `grpc-message`: Python's grpc_status refuses the details otherwise. */
  readonly message: string;
  readonly reason: string;
  readonly domain: string;
  readonly metadata: ReadonlyMap<string, string>;
  readonly retryAfterMs: number | undefined;
  readonly violations: readonly FieldViolation[];
}

/**
 * The details as bytes, at most MAX_STATUS_DETAILS_BYTES of them. What decides comes first, so that only the
 * last violations, and then the last metadata, are left out when a request is wrong beyond measure.
 */
export function encodeStatusDetails(details: StatusDetails): Uint8Array {
  const metadata = [...details.metadata];
  for (;;) {
    const head = encodeHead(details, metadata);
    if (head.length <= MAX_STATUS_DETAILS_BYTES || metadata.length === 0) {
      return appendViolations(head, details.violations);
    }
    metadata.pop();
  }
}

function encodeHead(details: StatusDetails, metadata: readonly (readonly [string, string])[]): Uint8Array {
  const writer = new BinaryWriter();
  writer.tag(1, WireType.Varint).int32(details.code);
  writer.tag(2, WireType.LengthDelimited).string(details.message);
  writeAny(writer, ERROR_INFO, encodeErrorInfo(details, metadata));
  if (details.retryAfterMs !== undefined) {
    // A RetryInfo has one field, retry_delay.
    const delay = Duration.encode(msToDuration(details.retryAfterMs)).finish();
    writeAny(writer, RETRY_INFO, new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(delay).finish());
  }
  return writer.finish();
}

function encodeErrorInfo(
  details: StatusDetails,
  metadata: readonly (readonly [string, string])[],
): Uint8Array {
  const writer = new BinaryWriter();
  writer.tag(1, WireType.LengthDelimited).string(details.reason);
  writer.tag(2, WireType.LengthDelimited).string(details.domain);
  for (const [key, value] of metadata) writePair(writer, 3, key, value);
  return writer.finish();
}

/** As many violations as there is room for, and how many more there are. */
function appendViolations(head: Uint8Array, violations: readonly FieldViolation[]): Uint8Array {
  if (violations.length === 0) return head;
  for (let kept = violations.length; kept >= 0; kept--) {
    const list = violations.slice(0, kept);
    const left = violations.length - kept;
    if (left > 0) list.push({ field: '', description: `and ${left} more` });
    const badRequest = new BinaryWriter();
    for (const { field, description } of list) writePair(badRequest, 1, field, description);
    const whole = writeAny(new BinaryWriter().raw(head), BAD_REQUEST, badRequest.finish()).finish();
    if (whole.length <= MAX_STATUS_DETAILS_BYTES) return whole;
  }
  return head;
}

function writeAny(writer: BinaryWriter, typeUrl: string, value: Uint8Array): BinaryWriter {
  writer.tag(3, WireType.LengthDelimited).fork();
  writer.tag(1, WireType.LengthDelimited).string(typeUrl);
  writer.tag(2, WireType.LengthDelimited).bytes(value);
  return writer.join();
}

/** A message of two strings: an entry of a map, a FieldViolation. */
function writePair(writer: BinaryWriter, field: number, first: string, second: string): void {
  writer.tag(field, WireType.LengthDelimited).fork();
  writer.tag(1, WireType.LengthDelimited).string(first);
  writer.tag(2, WireType.LengthDelimited).string(second);
  writer.join();
}

/** Reads what any server sent; undefined if the bytes are no google.rpc.Status at all. */
export function decodeStatusDetails(bytes: Uint8Array): StatusDetails | undefined {
  try {
    return decodeStatus(bytes);
  } catch {
    return undefined;
  }
}

interface MutableDetails {
  code: number;
  message: string;
  reason: string;
  domain: string;
  metadata: Map<string, string>;
  retryAfterMs: number | undefined;
  violations: FieldViolation[];
}

function decodeStatus(bytes: Uint8Array): StatusDetails {
  const details: MutableDetails = {
    code: 0,
    message: '',
    reason: '',
    domain: '',
    metadata: new Map(),
    retryAfterMs: undefined,
    violations: [],
  };
  eachField(bytes, (reader, field, type) => {
    if (field === 1 && type === WireType.Varint) details.code = reader.int32();
    else if (type !== WireType.LengthDelimited) return false;
    else if (field === 2) details.message = reader.string();
    else if (field === 3) decodeAny(reader.bytes(), details);
    else return false;
    return true;
  });
  return details;
}

function decodeAny(bytes: Uint8Array, details: MutableDetails): void {
  const [typeUrl, value] = decodePair(bytes);
  // Only the last segment names the type; what stands before it is the sender's choice.
  const type = typeUrl.slice(typeUrl.lastIndexOf('/') + 1);
  if (type === 'google.rpc.ErrorInfo') decodeErrorInfo(value, details);
  else if (type === 'google.rpc.RetryInfo') {
    for (const field of stringFields(value)) {
      if (field.number === 1) details.retryAfterMs = durationToMs(Duration.decode(field.bytes));
    }
  } else if (type === 'google.rpc.BadRequest') {
    for (const field of stringFields(value)) {
      if (field.number !== 1) continue;
      const [name, description] = decodePair(field.bytes);
      details.violations.push({ field: name, description: text(description) });
    }
  }
}

function decodeErrorInfo(bytes: Uint8Array, details: MutableDetails): void {
  for (const field of stringFields(bytes)) {
    if (field.number === 1) details.reason = text(field.bytes);
    else if (field.number === 2) details.domain = text(field.bytes);
    else if (field.number === 3) {
      const [key, value] = decodePair(field.bytes);
      details.metadata.set(key, text(value));
    }
  }
}

/** Fields 1 (text) and 2 of a message: an Any, an entry of a map, a FieldViolation. */
function decodePair(bytes: Uint8Array): [string, Uint8Array] {
  let first = '';
  let second: Uint8Array = new Uint8Array();
  for (const field of stringFields(bytes)) {
    if (field.number === 1) first = text(field.bytes);
    else if (field.number === 2) second = field.bytes;
  }
  return [first, second];
}

/** The length-delimited fields of a message, in order. */
function stringFields(bytes: Uint8Array): { number: number; bytes: Uint8Array }[] {
  const fields: { number: number; bytes: Uint8Array }[] = [];
  eachField(bytes, (reader, number, type) => {
    if (type !== WireType.LengthDelimited) return false;
    fields.push({ number, bytes: reader.bytes() });
    return true;
  });
  return fields;
}

/** Calls `read` for each field; it returns false for one that it left unread. */
function eachField(
  bytes: Uint8Array,
  read: (reader: BinaryReader, field: number, type: WireType) => boolean,
): void {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (!read(reader, field, type)) reader.skip(type, field);
  }
}

const decoder = new TextDecoder();

function text(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}
