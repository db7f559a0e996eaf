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

const PREFIX = 'OTEL_';

/**
 * Whether a variable of OpenTelemetry is set, and which name the service has. The SDK of OpenTelemetry reads the variables
 * itself. Undefined: there are no variables, or OTEL_SDK_DISABLED is true, and the SDK is not loaded.
 */
export function readOpenTelemetry(
  env: NodeJS.ProcessEnv,
): { readonly serviceName: string | undefined } | undefined {
  const isSet = Object.keys(env).some((name) => name.startsWith(PREFIX) && env[name] !== '');
  if (!isSet || env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true') return undefined;
  const isNamed =
    Boolean(env['OTEL_SERVICE_NAME']) ||
    /(^|,)\s*service\.name\s*=/.test(env['OTEL_RESOURCE_ATTRIBUTES'] ?? '');
  return { serviceName: isNamed ? undefined : 'holdfast' };
}
