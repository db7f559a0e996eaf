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
