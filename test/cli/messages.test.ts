import { join } from 'node:path';
import { problemText } from '../../src/cli/output';
import { runProgram } from '../support/cli/run-program';
import { scratchFolder } from '../support/scratch-folder';

/** Messages for mistakes that need no server. */

const NOTE = 'Resolution note: ';
const OPEN_SSL = 'error:0A00010B:SSL routines:ssl3_get_record:wrong version number:../ssl3_record.c:354:\n';

test.each([
  ['connect ECONNREFUSED 127.0.0.1:1', 'Error: connect ECONNREFUSED 127.0.0.1:1. '],
  ['Port should be >= 0', 'RangeError [ERR_SOCKET_BAD_PORT]: Port should be >= 0.. '],
  [
    'the connection ended before an answer (does the server want TLS?)',
    'Error: Failed to connect (2026-11-27T00:06:15.928Z). ',
  ],
  ['TLS: wrong version number (does the server have TLS?)', `Error: 80C0AD137F0000:${OPEN_SSL}. `],
])('a failed connection says %j, without the words of gRPC', (problem, inner) => {
  const message = `no server answered in time: No connection established. Last error: ${inner}${NOTE}`;
  expect(problemText(new Error(message))).toBe(`no server answered in time: ${problem}`);
});

test('a server that did not answer in time is silent, without the times of gRPC', () => {
  const message = 'Deadline exceeded after 0.019s,name resolution: 0.001s,Waiting for LB pick';
  expect(problemText(new Error(message))).toBe('the server is silent');
  const connected = 'Deadline exceeded after 5.002s,LB pick: 0.001s,remote_addr=127.0.0.1:50051';
  expect(problemText(new Error(connected))).toBe('127.0.0.1:50051 is silent');
});

test('a problem is one line, and steers no terminal', () => {
  expect(problemText(new Error('a\u001b[2Jb'))).not.toContain('\u001b');
});

test('a server that does not answer at a named address: 69 and the error of the system', async () => {
  const { code, err } = await runProgram(['status', '-a', '127.0.0.1:1', '--timeout', '1s']);
  expect(code).toBe(69);
  expect(err).toBe('no server answered in time: connect ECONNREFUSED 127.0.0.1:1\n');
});

test('without any address, the error says how to start a server and how to name another one', async () => {
  const env = { HOLDFAST_CONTEXT_FILE: join(scratchFolder(), 'contexts.yaml') };
  // Even a server at the default address cannot answer in this time.
  const { code, err } = await runProgram(['status', '--timeout', '1ms'], { env });
  expect(code).toBe(69);
  expect(err).toMatch(/^no server answered in time.*; "holdfast dev" starts a server, and --address names/);
});

test.each([':', ':50051', 'host:0', 'host:99999', 'a b:1', 'http://host:50051', 'a:1,b/c'])(
  'the address %j is refused at once: 64',
  async (address) => {
    const { code, err } = await runProgram(['status', '-a', address]);
    expect([code, err]).toEqual([64, expect.stringContaining('an address must be "host:port"')]);
    const env = { HOLDFAST_CONTEXT_FILE: join(scratchFolder(), 'contexts.yaml') };
    expect(await runProgram(['context', 'set', 'wrong', '-a', address], { env })).toMatchObject({ code: 64 });
  },
);

test.each(['[::1]:50051', 'host:65535', 'dns.example.org:1,127.0.0.1:2'])(
  'the address %j is fine',
  async (address) => {
    const env = { HOLDFAST_CONTEXT_FILE: join(scratchFolder(), 'contexts.yaml') };
    expect(await runProgram(['context', 'set', 'right', '-a', address], { env })).toMatchObject({ code: 0 });
  },
);

test.each([
  [['lock', 'nope'], "holdfast: unknown command 'nope'\n"],
  [['lock', 'get'], "holdfast: missing required argument 'name'\n"],
  [['status', '--timeout', '5'], 'It must be a time such as 500ms, 30s, 5m or 1.5h.\n'],
  [['import', '-'], 'stdin is no file here: save the export in a file first\n'],
])('wrong usage %j: 64', async (args, problem) => {
  expect(await runProgram(args)).toMatchObject({
    code: 64,
    out: '',
    err: expect.stringContaining(problem) as string,
  });
});
