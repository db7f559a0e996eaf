import { connect } from 'node:net';

/** The complete reply, or undefined if a part is missing. Supports lines (+, -, :) and bulk strings ($). */
function completeReply(received: string): string | undefined {
  const end = received.indexOf('\r\n');
  if (end < 0) return undefined;
  if (!received.startsWith('$')) return received.slice(0, end);
  const length = Number(received.slice(1, end));
  const text = received.slice(end + 2);
  return Buffer.byteLength(text) >= length ? text : undefined;
}

/**
 * Sends one command to a Redis over a new connection to its Unix socket. Resolves to the raw text of the reply, for
 * example "+PONG" or "-LOADING …". Rejects if no reply comes within the timeout.
 */
export function askRedis(socket: string, command: string, timeoutMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const connection = connect(socket);
    const fail = (why: string): void => {
      connection.destroy();
      reject(new Error(`${command} to ${socket}: ${why}`));
    };
    let received = '';
    connection.setEncoding('utf8');
    connection.setTimeout(timeoutMs, () => fail(`no answer within ${timeoutMs} ms`));
    connection.on('error', (error) => fail(error.message));
    connection.on('close', () => fail('the connection was closed'));
    connection.on('data', (text: string) => {
      received += text;
      const reply = completeReply(received);
      if (reply === undefined) return;
      resolve(reply);
      connection.destroy();
    });
    connection.write(`${command}\r\n`);
  });
}

/** Resolves to true if a process listens on this socket. A socket file may exist without a process. */
export function isListening(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = connect(socket);
    connection.on('connect', () => {
      resolve(true);
      connection.destroy();
    });
    connection.on('error', (error: NodeJS.ErrnoException) =>
      resolve(error.code !== 'ENOENT' && error.code !== 'ECONNREFUSED'),
    );
  });
}
