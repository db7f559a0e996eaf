import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '../../clients/typescript';
import { runProgram } from '../support/cli/run-program';
import { closeAll, eventually } from '../support/eventually';
import { TcpProxy } from '../support/proxy/tcp-proxy';
import { RedisProcess } from '../support/processes/redis-process';
import { InProcessServer } from '../end-to-end/in-process-server';

/** `holdfast lock watch` while no server answers, and while the server does not reach its Redis. */

let redis: RedisProcess;
let server: InProcessServer;
let proxy: TcpProxy;

beforeAll(async () => {
  redis = await RedisProcess.start({ inMemory: true });
  server = await InProcessServer.start(redis.url, { HOLDFAST_COMMAND_TIMEOUT: '2s' });
  proxy = await TcpProxy.open({ targetPort: Number(server.address.split(':')[1]), protocol: 'tcp' });
});
afterAll(() =>
  closeAll(
    () => proxy.close(),
    () => server.closeDespiteWarnings(),
    () => redis.close(),
  ),
);

interface Gap {
  readonly title: string;
  readonly begin: () => void | Promise<void>;
  readonly end: () => void | Promise<void>;
  readonly text: RegExp;
}

test.each<Gap>([
  {
    title: 'no server answers',
    begin: () => {
      proxy.refuseNew();
      proxy.cutAll();
    },
    end: () => proxy.passEverything(),
    text: /^holdfast: lock "watched" may have changed unseen: no server answers: /,
  },
  {
    title: 'the server hangs',
    begin: () => proxy.blackHole('both'),
    end: () => proxy.passEverything(),
    text: /^holdfast: lock "watched" may have changed unseen: 127\.0\.0\.1:\d+ is silent$/,
  },
  {
    title: 'the server does not reach its store',
    begin: () => redis.stop(),
    end: () => redis.cont(),
    text: /^holdfast: lock "watched" may have changed unseen: the server does not reach its store$/,
  },
])('a watch says once that $title, and once that this is over, and keeps stdout clean', async (gap) => {
  const ctrlC = new AbortController();
  const shown = { out: '', err: '' };
  const args = ['lock', 'watch', 'watched', '-o', 'jsonl', '--address', proxy.address];
  const watching = runProgram(args, {
    signal: ctrlC.signal,
    onOut: (text) => (shown.out = text),
    onErr: (text) => (shown.err = text),
  });
  try {
    await eventually('the first state', () => shown.out.includes('\n'));
    await gap.begin();
    await eventually('the line about the gap', () => shown.err.includes('\n'));
    // The command asks again in this time, and says nothing more.
    await sleep(4000);
    await gap.end();
    await eventually('the line about the end', () => shown.err.includes('watched again'));
  } finally {
    ctrlC.abort(new Error('ended by SIGINT'));
  }
  const { out, err } = await watching;
  for (const line of out.trimEnd().split('\n')) expect(JSON.parse(line)).toMatchObject({ name: 'watched' });
  expect(err.split('\n').slice(0, 2)).toEqual([
    expect.stringMatching(gap.text),
    'holdfast: lock "watched" is watched again',
  ]);
});

test('a watch leaves a server that hangs, says so, and shows the changes that the next address sends', async () => {
  const ctrlC = new AbortController();
  const shown = { out: '', err: '' };
  const addresses = `${proxy.address},${server.address}`;
  const watching = runProgram(['lock', 'watch', 'moved', '-o', 'jsonl', '--address', addresses], {
    signal: ctrlC.signal,
    onOut: (text) => (shown.out = text),
    onErr: (text) => (shown.err = text),
  });
  try {
    await eventually('the first state', () => shown.out.includes('\n'));
    proxy.blackHole('both');
    await eventually('the line about the gap', () => shown.err.includes('\n'));
    const hf = await connect(server.address);
    try {
      const lease = await hf.lock('moved');
      await eventually('the holder', () => shown.out.includes(String(lease.fencingToken)));
    } finally {
      await hf.close();
    }
    await eventually('the line about the end', () => shown.err.includes('watched again'));
  } finally {
    ctrlC.abort(new Error('ended by SIGINT'));
    proxy.passEverything();
  }
  const { err } = await watching;
  expect(err.split('\n').slice(0, 2)).toEqual([
    `holdfast: lock "moved" may have changed unseen: ${proxy.address} is silent`,
    'holdfast: lock "moved" is watched again',
  ]);
});
