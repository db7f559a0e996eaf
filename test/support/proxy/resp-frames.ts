/** Where the frame that begins at `start` ends, or undefined while it is not whole. Knows RESP2 and RESP3. */
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

/** The texts of a command: an array of bulk strings, or (inline) words on a line. */
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

/** What Redis sends unasked in RESP3: it answers no command. */
export function isPush(frame: Buffer): boolean {
  return frame[0] === '>'.charCodeAt(0);
}

/** Cuts a stream of bytes into Redis's frames: commands one way, replies the other. */
export class FrameReader {
  private rest: Buffer = Buffer.alloc(0);

  /** The frames that are whole with these bytes. */
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
