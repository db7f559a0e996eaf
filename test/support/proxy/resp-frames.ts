/** The end of the RESP2 or RESP3 frame at `start`. Undefined if the frame is incomplete. */
function frameEnd(bytes: Buffer, start: number): number | undefined {
  const lineEnd = bytes.indexOf('\r\n', start);
  if (lineEnd < 0) return undefined;
  const next = lineEnd + 2;
  const kind = String.fromCharCode(bytes[start] ?? 0);
  const length = Number(bytes.toString('latin1', start + 1, lineEnd));
  if ('$=!'.includes(kind)) {
    if (length < 0) return next;
    return next + length + 2 <= bytes.length ? next + length + 2 : undefined;
  }
  const parts = '*~>'.includes(kind) ? length : kind === '%' ? 2 * length : kind === '|' ? 2 * length + 1 : 0;
  let end: number | undefined = next;
  for (let i = 0; i < parts && end !== undefined; i++) end = frameEnd(bytes, end);
  return end;
}

/** The words of a command, which is an array of bulk strings or one line of words. */
export function commandWords(frame: Buffer): string[] {
  if (frame[0] !== '*'.charCodeAt(0)) return frame.toString().trim().split(/\s+/);
  const words: string[] = [];
  let at = frame.indexOf('\r\n') + 2;
  while (at < frame.length) {
    const lineEnd = frame.indexOf('\r\n', at);
    const length = Number(frame.toString('latin1', at + 1, lineEnd));
    words.push(frame.toString('utf8', lineEnd + 2, lineEnd + 2 + length));
    at = lineEnd + 2 + length + 2;
  }
  return words;
}

/** True for a RESP3 push message, which is not a reply to a command. */
export function isPush(frame: Buffer): boolean {
  return frame[0] === '>'.charCodeAt(0);
}

/** Splits a stream of bytes into frames of Redis's protocol. */
export class FrameReader {
  private rest: Buffer = Buffer.alloc(0);

  /** Adds bytes and returns the frames that are complete now. */
  push(chunk: Buffer): Buffer[] {
    const bytes = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    const frames: Buffer[] = [];
    let start = 0;
    for (let end = 0; start < bytes.length; start = end) {
      const found = frameEnd(bytes, start);
      if (found === undefined) break;
      end = found;
      frames.push(bytes.subarray(start, end));
    }
    this.rest = bytes.subarray(start);
    return frames;
  }
}
