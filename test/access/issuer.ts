import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT, type KeyLike } from 'jose';

/** An issuer of JSON web tokens with an HTTP server for its keys. */

export const ISSUER = 'https://login.example';
export const AUDIENCE = 'holdfast';

export interface SigningKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: KeyLike;
  readonly publicKey: KeyLike;
}

export async function signingKey(kid: string, alg = 'ES256'): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, alg, privateKey, publicKey };
}

export type Claims = Readonly<Record<string, unknown>> & {
  /** Seconds from now. */
  readonly endsIn?: number;
};

/** A good token of `alice`, with the given changes. A claim that is undefined is left out. */
export function sign(
  { kid, alg, privateKey }: SigningKey,
  { endsIn = 300, ...claims }: Claims = {},
  header: object = {},
): Promise<string> {
  const exp = Math.floor(Date.now() / 1000) + endsIn;
  const payload = { iss: ISSUER, aud: AUDIENCE, sub: 'alice', exp, ...claims };
  const present = Object.fromEntries(Object.entries(payload).filter(([, value]) => value !== undefined));
  return new SignJWT(present)
    .setProtectedHeader({ alg, kid, ...header })
    .sign(privateKey, { crit: { x: true } });
}

export async function keySetText(
  keys: readonly SigningKey[],
  others: readonly object[] = [],
): Promise<string> {
  const jwks = await Promise.all(
    keys.map(async ({ kid, alg, publicKey }) => ({ ...(await exportJWK(publicKey)), kid, alg, use: 'sig' })),
  );
  return JSON.stringify({ keys: [...jwks, ...others] });
}

/** The answer of the issuer: a status, a text, or no answer at all. */
export type IssuerAnswer = number | string | 'silence';

export class IssuerServer {
  answer: IssuerAnswer = 500;
  requestCount = 0;
  private constructor(private readonly server: Server) {}

  static async start(): Promise<IssuerServer> {
    const server = createServer((_request, response) => {
      issuer.requestCount += 1;
      const { answer } = issuer;
      if (answer === 'silence') return;
      if (answer === 302) response.writeHead(302, { location: '/elsewhere' }).end();
      else if (typeof answer === 'number') response.writeHead(answer).end();
      else response.end(answer);
    });
    const issuer = new IssuerServer(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return issuer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/keys`;
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}
