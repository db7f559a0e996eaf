import { connect } from 'node:net';

/** A whole reply of the two kinds that are asked for here: a line (+, -, :) and a text with its length ($). */
function wholeReply(received: string): string | undefined {
  const end = received.indexOf('\r\n');
  if (end < 0) return undefined;
  if (!received.startsWith('$')) return received.slice(0, end);
  const length = Number(received.slice(1, end));
  const text = received.slice(end + 2);
  return Buffer.byteLength(text) >= length ? text : undefined;
}

/**
 * Asks the Redis behind a unix socket one thing, over a connection of its own, and answers with the raw text
 * of the reply: "+PONG", "-LOADING …", the lines of INFO. Rejects when nobody answers in time.
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
      const reply = wholeReply(received);
      if (reply === undefined) return;
      resolve(reply);
      connection.destroy();
    });
    connection.write(`${command}\r\n`);
  });
}

/** Whether a process has this socket open for connections, answering or not; a file alone may be left over. */
export function somebodyListens(socket: string): Promise<boolean> {
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
