/**
 * A small protected store. It refuses a write with a fencing token lower than the token of an earlier write, because a
 * process that was suspended after its last look at the clock may write late. The newest writes are kept in memory.
 *
 *     npm run ledger -- --listen 127.0.0.1:8080
 *
 * POST /NAME with {"token": 7, "text": "…"} answers 200, or 409 with the greater token. GET /NAME answers the writes.
 */
import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';

interface Write {
  readonly token: number;
  readonly text: string;
}

/** For each name. */
const MAX_WRITES = 1000;

const books = new Map<string, Write[]>();

/** Checks the token and writes in one step. In a database: `UPDATE … WHERE token <= :token`. */
function write(name: string, { token, text }: Write): { status: number; body: unknown } {
  if (!Number.isSafeInteger(token) || typeof text !== 'string') return { status: 400, body: 'a wrong write' };
  const writes = books.get(name) ?? [];
  const newest = writes.at(-1)?.token ?? 0;
  if (token < newest) return { status: 409, body: newest };
  books.set(name, [...writes, { token, text }].slice(-MAX_WRITES));
  return { status: 200, body: token };
}

async function answer(request: IncomingMessage): Promise<{ status: number; body: unknown }> {
  const name = request.url ?? '/';
  if (request.method === 'GET') return { status: 200, body: books.get(name) ?? [] };
  if (request.method !== 'POST') return { status: 405, body: 'only GET and POST' };
  try {
    return write(name, JSON.parse(await text(request)) as Write);
  } catch {
    return { status: 400, body: 'not JSON' };
  }
}

const { values } = parseArgs({ options: { listen: { type: 'string', default: '127.0.0.1:8080' } } });
const [, host = '', port = ''] = /^(.*):(\d+)$/.exec(values.listen) ?? [];
const server = createServer((request, response) => {
  void answer(request).then(({ status, body }) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
});
server.listen(Number(port), host, () => {
  const { port } = server.address() as { port: number };
  console.log(`the ledger listens on ${host}:${port}`);
});
