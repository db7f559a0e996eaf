import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import type { PolicyRule } from '../../src/access/policy';
import { AUDIENCE, ISSUER, keySetText, sign, signingKey } from '../access/issuer';
import { Authority } from '../support/certificates';
import { scratchFolder } from '../support/scratch-folder';
import type { Harness } from './harness';
import { metadataOf, startWithPolicy } from './policy-harness';

/** The identity of a name by each way in. */
export const identityOf = {
  token: (name: string) => `token:${name}`,
  jwt: (name: string) => `jwt:${ISSUER}#${name}`,
  spiffe: (name: string) => `spiffe://example.org/${name}`,
  dns: (name: string) => `dns:${name}`,
} as const;

export type WayIn = keyof typeof identityOf;

/** A caller with the credential of one way in. */
export interface ProvenCaller {
  readonly way: WayIn;
  readonly name: string;
  readonly identity: string;
  readonly client: Client;
  readonly metadata: Metadata;
}

/** The lifetime of the JSON web tokens, which is longer than every test. */
const TOKEN_S = 3600;

/** Starts a server with fake engines, a policy and every way in. Each name has a caller of each way. */
export async function startWithEveryWayIn(
  names: readonly string[],
  rules: readonly PolicyRule[],
): Promise<{ readonly harness: Harness; readonly callers: readonly ProvenCaller[] }> {
  const folder = scratchFolder();
  const servers = new Authority(folder, 'servers');
  const clients = new Authority(folder, 'clients');
  const { cert, key } = servers.issueForServer();
  const issuerKey = await signingKey('k');
  const keys = { setting: 'HOLDFAST_AUTH_JWT_JWKS', path: join(folder, 'keys') };
  writeFileSync(keys.path, await keySetText([issuerKey]));
  const tls = {
    certificate: { setting: 'HOLDFAST_TLS_CERT', path: cert },
    key: { setting: 'HOLDFAST_TLS_KEY', path: key },
    clientAuthority: { setting: 'HOLDFAST_TLS_CLIENT_CA', path: clients.cert },
  };
  const jwt = { issuer: ISSUER, audience: AUDIENCE, keys, claim: 'sub' };
  const { harness } = await startWithPolicy(names, rules, { access: { tls, jwt } });

  const uncertified = harness.client(Client, credentials.createSsl(servers.pem));
  const certified = (subjectName: string): Client => {
    const issued = clients.issue({ names: subjectName });
    const [clientKey, chain] = [readFileSync(issued.key), readFileSync(issued.cert)];
    return harness.client(Client, credentials.createSsl(servers.pem, clientKey, chain));
  };
  const bearer = (token: string): Metadata => {
    const metadata = new Metadata();
    metadata.set('authorization', `Bearer ${token}`);
    return metadata;
  };
  const callersOf = async (name: string): Promise<ProvenCaller[]> => {
    const caller = (way: WayIn, client: Client, metadata = new Metadata()) => ({
      ...{ way, name, identity: identityOf[way](name), client, metadata },
    });
    const token = await sign(issuerKey, { sub: name, endsIn: TOKEN_S });
    return [
      caller('token', uncertified, metadataOf(name)),
      caller('jwt', uncertified, bearer(token)),
      caller('spiffe', certified(`URI:${identityOf.spiffe(name)}`)),
      caller('dns', certified(`DNS:${name}`)),
    ];
  };
  const callers: ProvenCaller[] = [];
  for (const name of names) callers.push(...(await callersOf(name)));
  return { harness, callers };
}
