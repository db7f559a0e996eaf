import { reasonsOf } from '../../src/dev/restarts';

const OUTPUT = `5949:C 22 Nov 2026 11:08:39.520 # oO0OoO0OoO0Oo Redis is starting oO0OoO0OoO0Oo
5949:C 22 Nov 2026 11:08:39.520 # Redis version=7.0.15, bits=64, commit=00000000, modified=0, pid=5949, just started
5949:C 22 Nov 2026 11:08:39.527 # Configuration loaded
5949:M 22 Nov 2026 11:08:39.530 # Server initialized
5949:M 22 Nov 2026 11:08:39.530 # WARNING Memory overcommit must be enabled!
5949:M 22 Nov 2026 11:08:39.535 * The server is now ready to accept connections at /tmp/redis.sock
`;
const FAILED = `${OUTPUT}5949:M 22 Nov 2026 11:08:39.651 # Short write while writing to the AOF file: (nwritten=2429, expected=6250)
5949:M 22 Nov 2026 11:08:39.651 # Can't recover from AOF write error when the AOF fsync policy is 'always'. Exiting...
`;

describe('reasonsOf', () => {
  it('returns the warnings of the log, without the warnings of every start', () => {
    expect(reasonsOf(FAILED)).toEqual([
      'Short write while writing to the AOF file: (nwritten=2429, expected=6250)',
      "Can't recover from AOF write error when the AOF fsync policy is 'always'. Exiting...",
    ]);
    expect(reasonsOf(OUTPUT)).toEqual([]);
  });

  it('returns the last three lines of any other output, each of at most 300 characters', () => {
    expect(reasonsOf('')).toEqual([]);
    expect(reasonsOf(`a\n\nb\nc\n${'d'.repeat(1000)}\n`)).toEqual(['b', 'c', 'd'.repeat(300)]);
  });
});
