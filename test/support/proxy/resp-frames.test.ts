import { commandWords, FrameReader, isPush } from './proxy-connection';

const FRAMES = [
  '+OK\r\n',
  '-ERR no\r\n',
  ':9007199254740993\r\n',
  '$-1\r\n',
  '$0\r\n\r\n',
  '$8\r\na\r\n$1\r\nb\r\n',
  '*0\r\n',
  '*-1\r\n',
  '*2\r\n*2\r\n:1\r\n$3\r\nabc\r\n+x\r\n',
  '%1\r\n+key\r\n*1\r\n:1\r\n',
  '~2\r\n:1\r\n:2\r\n',
  '>2\r\n+invalidate\r\n_\r\n',
  '|1\r\n+ttl\r\n:3\r\n+answer\r\n',
  '=7\r\ntxt:abc\r\n',
  '#t\r\n',
  ',1.5\r\n',
  'PING\r\n',
];

describe('FrameReader', () => {
  it.each([1, 2, 3, 7, 1000])('returns the same frames from chunks of %d bytes', (size) => {
    const bytes = Buffer.from(FRAMES.join(''));
    const reader = new FrameReader();
    const found: string[] = [];
    for (let at = 0; at < bytes.length; at += size) {
      found.push(...reader.push(bytes.subarray(at, at + size)).map(String));
    }
    expect(found).toEqual(FRAMES);
  });

  it('separates a push message from replies', () => {
    const pushes = FRAMES.filter((frame) => isPush(Buffer.from(frame)));
    expect(pushes).toEqual(['>2\r\n+invalidate\r\n_\r\n']);
  });
});

describe('commandWords', () => {
  it('reads an array of bulk strings, with lengths in bytes', () => {
    const frame = Buffer.from('*3\r\n$7\r\nEVALSHA\r\n$6\r\nb\r\n\u00fcx\r\n$0\r\n\r\n');
    expect(commandWords(frame)).toEqual(['EVALSHA', 'b\r\n\u00fcx', '']);
  });

  it('reads the words of an inline command', () => {
    expect(commandWords(Buffer.from('PING  hello\r\n'))).toEqual(['PING', 'hello']);
  });
});
