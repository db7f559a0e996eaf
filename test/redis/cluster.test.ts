import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { systemClock } from '../../src/base/clock';
import { SLOT_COUNT, slotOfKey } from '../../src/redis/buckets';
import { script } from '../../src/redis/script';
import { redirectionOf } from '../../src/redis/failure-class';
import { RedisCluster } from '../../src/redis/topology/cluster';
import { clusterHealth, isSameHealth } from '../../src/redis/topology/cluster-health';
import { bestOf, hostOf, readView, redirectedAddress } from '../../src/redis/topology/cluster-watch';
import { commandWords, FrameReader } from '../support/proxy/proxy-connection';
import { failureOf } from '../support/reply-kinds';
import { Stopwatch } from '../support/stopwatch';

/** A node's answer to a script: text in the form of the protocol, or 'cut' for a loss of the connection. */
type Answer = string;

const bulk = (text: string) => `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
const array = (...parts: string[]) => `*${parts.length}\r\n${parts.join('')}`;
const answered = (text: string) => array(bulk(text));
const refused = (text: string) => `-${text}\r\n`;

/**
 * A node of a Redis Cluster. The test chooses the answers to scripts. The node answers all other commands correctly.
 */
class FakeClusterNode {
  /** The received scripts that are not about epochs, each with its preceding ASKING. */
  readonly received: string[] = [];
  /** The `host:port` of all nodes with their slots, for the answer to CLUSTER SLOTS. */
  slots: readonly (readonly [number, number, string])[] = [];
  answer: (received: string) => Answer = () => answered('OK');
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private readonly runId: string,
  ) {
    server.on('connection', (socket) => this.serve(socket));
  }

  static async open(runId: string): Promise<FakeClusterNode> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new FakeClusterNode(server, runId.padStart(40, '0'));
  }

  get address(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): void {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
  }

  private serve(socket: Socket): void {
    this.sockets.add(socket);
    socket.setNoDelay(true);
    const frames = new FrameReader();
    let asking = false;
    socket.on('error', () => undefined);
    socket.on('close', () => this.sockets.delete(socket));
    socket.on('data', (chunk) => {
      for (const frame of frames.push(chunk)) {
        const words = commandWords(frame);
        const isAsking = words[0]?.toUpperCase() === 'ASKING';
        const answer = isAsking ? '+OK\r\n' : this.reply(words, asking);
        asking = isAsking;
        if (answer === 'cut') return void socket.destroy();
        socket.write(answer);
      }
    });
  }

  private reply([verb = '', ...args]: string[], asking: boolean): string {
    const [first = ''] = args;
    switch (verb.toUpperCase()) {
      case 'INFO':
        return bulk(
          `redis_version:7.0.0\r\nrole:master\r\nrun_id:${this.runId}\r\ncluster_enabled:1\r\nloading:0\r\n`,
        );
      case 'TIME':
        return array(bulk('1700000000'), bulk('0'));
      case 'CONFIG':
        return array();
      case 'CLUSTER':
        return first.toUpperCase() === 'INFO'
          ? bulk('cluster_state:ok\r\ncluster_current_epoch:1\r\n')
          : array(...this.slots.map(slotRange));
      case 'EVAL_RO':
        return array(); // no right is missing
      case 'EVAL':
      case 'EVALSHA': {
        if (args[2]?.endsWith(':epoch')) {
          return array(
            bulk('OK'),
            ...[':0\r\n', ':0\r\n', ':0\r\n'],
            bulk(''),
            ':5000\r\n',
            bulk('w'),
            ':0\r\n',
          );
        }
        const received = `${asking ? 'ASKING ' : ''}${args.at(-1)}`;
        this.received.push(received);
        return this.answer(received);
      }
      default:
        return '+OK\r\n';
    }
  }
}

function slotRange([from, to, address]: readonly [number, number, string]): string {
  const [host = '', port = ''] = address.split(':');
  return array(`:${from}\r\n`, `:${to}\r\n`, array(bulk(host), `:${port}\r\n`, bulk('id')));
}

const COMMAND_TIMEOUT_MS = 600;
const KEY = 'test:{1}:l2:state:x';
const SLOT = slotOfKey(KEY);
const step = script('return {ARGV[1]}');

describe('RedisCluster', () => {
  let here: FakeClusterNode;
  let there: FakeClusterNode;
  let cluster: RedisCluster;
  beforeEach(async () => {
    [here, there] = await Promise.all([FakeClusterNode.open('a'), FakeClusterNode.open('b')]);
    // Each node has half of the slots. Node `here` owns the slot of the key.
    const [low, high] = SLOT < 8192 ? [here, there] : [there, here];
    for (const node of [here, there]) {
      node.slots = [
        [0, 8191, low.address],
        [8192, 16_383, high.address],
      ];
    }
    cluster = new RedisCluster({
      address: {
        kind: 'cluster',
        seeds: [hostOf(here.address)],
        tls: false,
        username: undefined,
        password: undefined,
      },
      security: { tls: undefined, sentinelUser: undefined },
      prefix: 'test',
      quarantineMs: 5000,
      storeIsNew: true,
      commandTimeoutMs: COMMAND_TIMEOUT_MS,
      clock: systemClock,
      onError: () => undefined,
    });
    await cluster.ready(5000);
  });
  afterEach(() => {
    cluster.close();
    here.close();
    there.close();
  });

  const moved = () => refused(`MOVED ${SLOT} ${there.address}`);
  const run = (what: string) =>
    cluster.send({ run: step, keys: [KEY], args: [what], read: ([reply]) => String(reply), isRaw: true });

  /** On a busy machine the last reply may arrive after the deadline, and the outcome is then unknown. */
  async function expectNotCarriedOut(): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      for (const node of [here, there]) node.received.length = 0;
      const stopwatch = new Stopwatch();
      const failure = await failureOf(run('one'));
      expect(stopwatch.chargedMs).toBeLessThan(COMMAND_TIMEOUT_MS + 400);
      expect(failure).toMatchObject({ kind: 'unavailable' });
      if (failure.carriedOut === 'no') return;
      expect(tries).toBeLessThan(5);
    }
  }

  it('follows MOVED, and sends the next command directly to the new owner', async () => {
    here.answer = moved;
    expect(await run('one')).toBe('OK');
    expect(await run('two')).toBe('OK');
    expect(there.received).toEqual(['one', 'two']);
    expect(here.received).toEqual(['one']);
  });

  it('follows ASK with ASKING for the redirected command only', async () => {
    here.answer = () => refused(`ASK ${SLOT} ${there.address}`);
    expect(await run('one')).toBe('OK');
    here.answer = () => answered('here');
    expect(await run('two')).toBe('here');
    expect(there.received).toEqual(['ASKING one']);
  });

  it('tries a command again while its slot is moving', async () => {
    let tries = 0;
    here.answer = () => ((tries += 1) < 5 ? refused('TRYAGAIN Multiple keys request') : answered('at last'));
    expect(await run('one')).toBe('at last');
    expect(here.received).toHaveLength(5);
  });

  it('fails a command as not carried out, at its deadline and after less than 50 sends, if two nodes redirect it to each other', async () => {
    here.answer = moved;
    there.answer = () => refused(`MOVED ${SLOT} ${here.address}`);
    await expectNotCarriedOut();
    expect(here.received.length + there.received.length).toBeLessThan(50);
  });

  it('fails a command as not carried out if it is refused until its deadline', async () => {
    here.answer = () => refused('CLUSTERDOWN The cluster is down');
    await expectNotCarriedOut();
  });

  it('sends a command of a lost connection to the new owner, and reports an unknown outcome if that node refuses it too', async () => {
    here.answer = () => {
      for (const node of [here, there]) node.slots = [[0, 16_383, there.address]];
      return 'cut';
    };
    expect(await run('one')).toBe('OK');
    expect(there.received).toEqual(['one']);
    there.answer = (received) => (there.received.length < 3 ? 'cut' : refused(`CLUSTERDOWN ${received}`));
    expect(await failureOf(run('two'))).toMatchObject({ carriedOut: 'unknown' });
  });

  it('adds a key that never exists to each script', async () => {
    const keys: string[] = [];
    here.answer = (received) => {
      keys.push(received);
      return answered('OK');
    };
    // The last word of the command is the absent key, because the script has no arguments.
    await cluster.send({ run: step, keys: [KEY], args: [], read: () => undefined });
    expect(keys).toEqual(['test:{1}:absent']);
  });
});

const INFO = 'cluster_enabled:1\r\ncluster_state:ok\r\ncluster_current_epoch:7\r\n';

describe('the view of a Cluster', () => {
  it('contains the master of each slot and the replicas, and leaves slots without a master empty', () => {
    const slots = [
      ['0', '99', ['10.0.0.1', '7000', 'a'], ['10.0.0.2', '7000', 'b']],
      ['200', '200', ['::1', '7001', 'c', ['hostname', 'x']]],
    ];
    const view = readView(INFO, slots, 'seed:1');
    expect(view).toMatchObject({ epoch: 7, working: true });
    expect(view.owners).toHaveLength(SLOT_COUNT);
    expect([0, 99, 100, 199, 200, 201].map((slot) => view.owners[slot])).toEqual([
      ...['10.0.0.1:7000', '10.0.0.1:7000', undefined, undefined, '::1:7001', undefined],
    ]);
    expect([...view.members]).toEqual(['10.0.0.1:7000', '10.0.0.2:7000', '::1:7001']);
    expect(hostOf('::1:7001')).toEqual({ host: '::1', port: 7001 });
  });

  it.each([[null], [''], ['?']])(
    'puts the address of the asked node where the reply has the host %j',
    (host) => {
      const view = readView(INFO, [['0', '1', [host, '7000', 'a']]], 'seed.example:6379');
      expect(view.owners[0]).toBe('seed.example:7000');
    },
  );

  it('is preferred if its Cluster works, and among such views if its config epoch is the highest', () => {
    const view = (epoch: number, working: boolean) => ({ ...readView(INFO, [], 'a:1'), epoch, working });
    expect(bestOf([view(3, true), view(5, true), view(9, false)])).toMatchObject({ epoch: 5 });
    expect(bestOf([view(3, false), view(4, false)])).toMatchObject({ epoch: 4 });
    expect(bestOf([])).toBeUndefined();
  });

  it.each([
    ['MOVED 3999 10.0.0.1:7000', { kind: 'moved', slot: 3999, address: '10.0.0.1:7000' }],
    ['ASK 3999 10.0.0.1:7000', { kind: 'ask', slot: 3999, address: '10.0.0.1:7000' }],
    ['MOVED 1 2001:db8::1:7000', { kind: 'moved', slot: 1, address: '2001:db8::1:7000' }],
    ['MOVED 1 :7000', { kind: 'moved', slot: 1, address: 'from.example:7000' }],
    ['MOVED 1 ?:7000', { kind: 'moved', slot: 1, address: 'from.example:7000' }],
  ])('takes the new node from the redirection %s', (text, expected) => {
    const redirection = redirectionOf(new Error(text))!;
    const { kind, slot } = redirection;
    expect({ kind, slot, address: redirectedAddress(redirection, 'from.example:1') }).toEqual(expected);
  });

  it.each([
    ['TRYAGAIN Multiple keys request during rehashing of slot', 'try-again'],
    ['CLUSTERDOWN The cluster is down', 'no-master'],
    ['READONLY You can not write against a read only replica.', 'read-only'],
    ['ERR unknown command', undefined],
  ])('takes no node from the error %s', (text, kind) => {
    expect(redirectionOf(new Error(text))?.kind).toBe(kind);
    expect(redirectionOf(new Error(text))?.slot ?? NaN).toBeNaN();
  });
});

describe('the health of a Cluster', () => {
  type Node = ReturnType<Parameters<typeof clusterHealth>[1]>;
  const up = (...warnings: string[]): Node => ({ reachable: true, suitable: true, warnings });
  const DOWN: Node = { reachable: false, suitable: true, warnings: [] };

  /** Distributes the slots among nodes named a, b, c, … */
  function health(nodes: readonly Node[], slots = SLOT_COUNT) {
    const at = (index: number) => `${String.fromCharCode(97 + index)}:1`;
    const owners = Array.from({ length: SLOT_COUNT }, (_, slot) =>
      slot < slots ? at(Math.floor((slot * nodes.length) / slots)) : undefined,
    );
    return clusterHealth(owners, (address) => nodes[address.charCodeAt(0) - 97] ?? DOWN);
  }

  it('has no warnings while all nodes answer', () => {
    expect(health([up(), up(), up()])).toEqual({
      reachable: true,
      suitable: true,
      warnings: [],
      whole: true,
    });
  });

  it('is reachable while the nodes of at least half of the names answer, and names the other nodes', () => {
    const one = health([up(), DOWN, up()]);
    expect(one).toMatchObject({ reachable: true, whole: false });
    expect(one.warnings).toEqual([
      expect.stringContaining('b:1 of the store does not answer: 33 % of all names'),
    ]);
    expect(health([up(), DOWN])).toMatchObject({ reachable: true });
    expect(health([up(), DOWN, DOWN])).toMatchObject({ reachable: false });
    expect(health([DOWN, DOWN])).toMatchObject({ reachable: false });
    expect(clusterHealth([], () => DOWN)).toMatchObject({ reachable: false, warnings: [] });
  });

  it('contains a warning about slots without a node', () => {
    const { reachable, warnings, whole } = health([up()], SLOT_COUNT * 0.9);
    expect({ reachable, whole }).toEqual({ reachable: true, whole: false });
    expect(warnings).toEqual([expect.stringContaining('10 % of all names')]);
  });

  it('contains no warning about a new node, and leaves the slots of that node out of the count', () => {
    expect(health([up(), 'new', up()])).toMatchObject({ reachable: true, whole: false, warnings: [] });
    expect(health(['new', 'new'])).toMatchObject({ reachable: false, warnings: [] });
  });

  it('is unsuitable if one node is, and names the nodes of a warning unless all nodes have the warning', () => {
    const evicting: Node = { reachable: true, suitable: false, warnings: ['evicts', 'same'] };
    const { suitable, warnings } = health([evicting, up('same')]);
    expect({ suitable, warnings }).toEqual({ suitable: false, warnings: ['evicts (a:1)', 'same'] });
  });

  it('changes when its counts or its warnings change', () => {
    expect(isSameHealth(health([up()]), health([up(), up()]))).toBe(true);
    expect(isSameHealth(health([up(), DOWN]), health([DOWN, up()]))).toBe(false);
  });
});
