import { connect, type Socket } from 'node:net';

/**
 * A minimal Redis client for polling. Each client has a connection, and sends a single command at a time. A library would
 * add its own cost to the measurement.
 */
export class RespClient {
  private readonly socket: Socket;
  private answer: { resolve: (reply: string) => void; reject: (error: Error) => void } | undefined;
  private received = '';

  private constructor(port: number) {
    this.socket = connect(port, '127.0.0.1').setNoDelay().setEncoding('latin1');
    this.socket.on('data', (text: string) => this.receive(text));
    this.socket.on('error', (error) => this.answer?.reject(error));
  }

  static async connect(port: number): Promise<RespClient> {
    const client = new RespClient(port);
    if ((await client.command('PING')) !== '+PONG') throw new Error(`no Redis answers on port ${port}`);
    return client;
  }

  /** Resolves to a reply of a single line, such as "+OK", ":1" or "$-1" (nil). */
  command(...words: string[]): Promise<string> {
    const parts = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
    this.socket.write(`*${words.length}\r\n${parts.join('')}`);
    return new Promise((resolve, reject) => (this.answer = { resolve, reject }));
  }

  close(): void {
    this.socket.destroy();
  }

  private receive(text: string): void {
    this.received += text;
    if (!this.received.endsWith('\r\n')) return;
    const reply = this.received.slice(0, -2);
    this.received = '';
    if (reply.startsWith('-')) this.answer?.reject(new Error(reply));
    else this.answer?.resolve(reply);
  }
}
