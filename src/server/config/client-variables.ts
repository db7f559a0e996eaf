/** The environment variables of clients: the program `holdfast` reads them. A server ignores them. */
export const CLIENT_VARIABLES = {
  context: 'HOLDFAST_CONTEXT',
  contextFile: 'HOLDFAST_CONTEXT_FILE',
  address: 'HOLDFAST_ADDRESS',
  tls: 'HOLDFAST_TLS',
  ca: 'HOLDFAST_CA',
  cert: 'HOLDFAST_CERT',
  key: 'HOLDFAST_KEY',
  serverName: 'HOLDFAST_SERVER_NAME',
  token: 'HOLDFAST_TOKEN',
  tokenFile: 'HOLDFAST_TOKEN_FILE',
} as const;

/** The environment variables that `lock run`, `semaphore run` and `elect` set for their command. A server ignores them. */
export const COMMAND_VARIABLES = {
  name: 'HOLDFAST_NAME',
  fencingToken: 'HOLDFAST_FENCING_TOKEN',
  deadlineMs: 'HOLDFAST_DEADLINE_MS',
} as const;
