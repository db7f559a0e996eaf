import {
  accountName,
  count,
  fileOption,
  filePath,
  insecureParts,
  issuerName,
  keySource,
  option,
  type Option,
  optional,
} from './values';

/** The settings that say who may call the server, and how much each caller may use. */
export const accessOptions = {
  tlsCert: fileOption(
    'HOLDFAST_TLS_CERT',
    '/etc/holdfast/server.pem',
    'The certificate chain of the server. With a certificate the server accepts only TLS connections. HOLDFAST_TLS_KEY must be set too.',
  ),
  tlsKey: fileOption(
    'HOLDFAST_TLS_KEY',
    '/etc/holdfast/server.key',
    'The private key of the certificate in HOLDFAST_TLS_CERT. The server loads changed files again without a restart; new connections then use the new certificate.',
  ),
  tlsClientCa: fileOption(
    'HOLDFAST_TLS_CLIENT_CA',
    '/etc/holdfast/client-ca.pem',
    'The authority of client certificates. The server then requests a client certificate, and the identity of a caller is the first SPIFFE URI of the certificate, or else its first DNS name. Needs HOLDFAST_TLS_CERT.',
  ),
  authTokens: optional({
    name: 'HOLDFAST_AUTH_TOKENS',
    format: 'path of a file with lines `identity sha256:<hex> [expires]`',
    example: '/etc/holdfast/tokens',
    about:
      'The tokens that callers may send as `authorization: Bearer <token>`. The file has only the SHA-256 of each token. The server loads a changed file again without a restart.',
    schema: filePath(),
  }),
  authJwtIssuer: optional({
    name: 'HOLDFAST_AUTH_JWT_ISSUER',
    format: 'text without `#`',
    example: 'https://login.example',
    about:
      'The issuer of the JSON web tokens that callers may send as `authorization: Bearer <token>`. HOLDFAST_AUTH_JWT_AUDIENCE and HOLDFAST_AUTH_JWT_JWKS must be set too.',
    schema: issuerName(),
  }),
  authJwtAudience: optional({
    name: 'HOLDFAST_AUTH_JWT_AUDIENCE',
    format: 'text',
    example: 'holdfast',
    about: 'The audience that a JSON web token must name, so that a token for another service is refused.',
    schema: accountName(),
  }),
  authJwtJwks: optional({
    name: 'HOLDFAST_AUTH_JWT_JWKS',
    format: 'path of a file, or `https://…` or `http://…`',
    example: 'https://login.example/.well-known/jwks.json',
    about:
      'The public keys of the issuer, as a JSON Web Key Set. A file is loaded again when it changes. A URL with `http` is refused, unless its host is a loopback address or HOLDFAST_INSECURE has `jwks`. A URL is requested every 5 minutes and for unknown keys; while the URL cannot be reached, the last keys stay in use for one hour.',
    schema: keySource(),
  }),
  authJwtClaim: option({
    name: 'HOLDFAST_AUTH_JWT_CLAIM',
    default: 'sub',
    format: 'name of a claim',
    example: 'client_id',
    about: 'The claim of a JSON web token that names the caller.',
    schema: accountName(),
  }),
  policy: optional({
    name: 'HOLDFAST_POLICY',
    format: 'path of a YAML file',
    example: '/etc/holdfast/policy.yaml',
    about:
      'The policy: which identity may do what with which names. The server loads a changed file again without a restart; a file with a mistake changes nothing, and the log names the mistake. Without a policy every proven identity may do everything. Needs a way to prove identities: HOLDFAST_AUTH_TOKENS, HOLDFAST_AUTH_JWT_ISSUER or HOLDFAST_TLS_CLIENT_CA.',
    schema: filePath(),
  }),
  insecure: option({
    name: 'HOLDFAST_INSECURE',
    default: '',
    format: '`tls`, `auth`, `jwks`, or several with commas, as in `tls,auth`',
    example: 'tls',
    about:
      'The server refuses to listen on an address that other machines can reach, unless it has TLS and authenticates callers. The value `tls` permits an address without TLS, for example behind a load balancer that ends TLS; the value `auth` permits callers without credentials. `jwks` permits a HOLDFAST_AUTH_JWT_JWKS of another machine without TLS. The server logs a warning in each case.',
    schema: insecureParts(),
  }),
  quotaLeases: quotaOption(
    'HOLDFAST_QUOTA_LEASES',
    '10000',
    'The largest number of leases of one caller on this server. Requests that may still get a lease count too. The settings HOLDFAST_QUOTA_* hold for each proven identity, unless the policy gives the identity another quota. Without authentication they hold for each connection. Calls above a quota fail with QUOTA_EXCEEDED.',
  ),
  quotaWaiters: quotaOption(
    'HOLDFAST_QUOTA_WAITERS',
    '1000',
    'The largest number of requests of one caller that wait for a lease on this server.',
  ),
  quotaStreams: quotaOption(
    'HOLDFAST_QUOTA_STREAMS',
    '1000',
    'The largest number of open streams of one caller on this server: HoldLock, HoldPermits, WatchLock, WatchSemaphore, SuggestStream, ImportDictionary and OpenSession.',
  ),
  quotaSessions: quotaOption(
    'HOLDFAST_QUOTA_SESSIONS',
    '100',
    'The largest number of open sessions of one caller on this server. A second session with the same `client_id` does not count, so that a client can move its leases to its next session. All callers together have at most 10,000 sessions on a server.',
  ),
  quotaCommandsPerSecond: quotaOption(
    'HOLDFAST_QUOTA_COMMANDS_PER_SECOND',
    '500',
    'The largest number of calls and messages of SuggestStream of one caller per second on this server. All calls of a second may come at the same moment. Renewals, releases and streams that attach to a lease do not count.',
    1,
  ),
  quotaEntries: quotaOption(
    'HOLDFAST_QUOTA_ENTRIES',
    '1000000',
    'The largest number of entries that all dictionaries of one identity have in total. Needs a way to prove identities.',
  ),
  quotaBytes: quotaOption(
    'HOLDFAST_QUOTA_BYTES',
    '100000000',
    'The largest number of bytes of the ids and records of these entries. Needs a way to prove identities.',
  ),
} as const;

function quotaOption(
  name: Option<number>['name'],
  example: string,
  about: string,
  from = 0,
): Option<number | undefined> {
  const to = 1_000_000_000_000;
  return optional({
    name,
    format: 'whole number',
    range: `${from} to ${to}`,
    example,
    about,
    schema: count(from, to),
  });
}
