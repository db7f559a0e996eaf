import http from 'node:http';
import https from 'node:https';

export interface DownloadOptions {
  readonly signal: AbortSignal;
  readonly maxBytes: number;
  readonly accept: string;
}

/**
 * The text at an address. Rejects after each status except 200, so redirections are refused. `fetch` of Node 20 is not
 * used: it may lose the signal to the garbage collector, and then waits 5 minutes for a server that does not answer.
 */
export async function download(url: string, { signal, maxBytes, accept }: DownloadOptions): Promise<string> {
  const { get } = url.startsWith('https:') ? https : http;
  const headers = { accept, 'accept-encoding': 'identity' };
  const answer = await new Promise<http.IncomingMessage>((resolve, reject) => {
    get(url, { signal, headers, agent: false }, resolve).on('error', reject);
  });
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    if (answer.statusCode !== 200)
      throw new Error(`the server answered with the HTTP status ${answer.statusCode}`);
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      size += chunk.byteLength;
      if (size > maxBytes) throw new Error(`the answer has more than ${maxBytes} bytes`);
      chunks.push(chunk);
    }
  } finally {
    answer.destroy();
  }
  return Buffer.concat(chunks).toString('utf8');
}
