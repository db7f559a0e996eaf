import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { commandWords, FrameReader } from './proxy/proxy-connection';

/** A node's answer to a script: text in the form of the protocol, or 'cut' for a loss of the connection. */
export type Answer = string;

const bulk = (text: string) => `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
const array = (...parts: string[]) => `*${parts.length}\r\n${parts.join('')}`;
export const answered = (text: string) => array(bulk(text));
export const refused = (text: string) => `-${text}\r\n`;

/**
 * A node of a Redis Cluster. The test chooses the answers to scripts. The node answers all other commands correctly.
 */
export class FakeClusterNode {
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
