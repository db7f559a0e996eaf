/** A zip file with the same bytes for the same content: fixed times, and the order of the caller. */
import { deflateRawSync } from 'node:zlib';

/** 1 January 1980, the first date of the format. */
const DATE = 0x0021;
const VERSION = 20;
const UTF8_NAMES = 0x0800;
const DEFLATE = 8;

/**
 * @param {[string, Buffer][]} files names and contents
 * @returns {Buffer}
 */
export function zip(files) {
  const bodies = [];
  const directory = [];
  let offset = 0;
  for (const [name, content] of files) {
    const packed = deflateRawSync(content, { level: 9 });
    const nameBytes = Buffer.from(name);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(VERSION, 0);
    common.writeUInt16LE(UTF8_NAMES, 2);
    common.writeUInt16LE(DEFLATE, 4);
    common.writeUInt16LE(DATE, 8);
    common.writeUInt32LE(crc32(content), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(content.length, 18);
    common.writeUInt16LE(nameBytes.length, 22);
    const body = Buffer.concat([Buffer.from('PK\x03\x04'), common, nameBytes, packed]);
    directory.push(directoryEntry(common, nameBytes, offset));
    bodies.push(body);
    offset += body.length;
  }
  const entries = Buffer.concat(directory);
  return Buffer.concat([...bodies, entries, endOfDirectory(files.length, entries.length, offset)]);
}

function directoryEntry(common, nameBytes, offset) {
  const madeBy = Buffer.alloc(2);
  madeBy.writeUInt16LE(VERSION);
  const rest = Buffer.alloc(14);
  rest.writeUInt32LE(offset, 10);
  return Buffer.concat([Buffer.from('PK\x01\x02'), madeBy, common, rest, nameBytes]);
}

function endOfDirectory(count, size, offset) {
  const end = Buffer.alloc(18);
  end.writeUInt16LE(count, 4);
  end.writeUInt16LE(count, 6);
  end.writeUInt32LE(size, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([Buffer.from('PK\x05\x06'), end]);
}

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value;
});

/** The module zlib of Node 20.11 has no crc32. */
function crc32(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = TABLE[(crc ^ byte) & 0xff] ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}
