import { connect, CredentialError } from '../../../../clients/typescript';
import { isLoopback } from '../../../../clients/typescript/connection/transport-security';

test.each(['localhost:1', '127.0.0.1:1', '127.9.9.9:1', '[::1]:1', '[::ffff:127.0.0.1]:1', 'LOCALHOST:1'])(
  '%s is the own machine',
  (address) => expect(isLoopback(address)).toBe(true),
);

test.each(['10.0.0.1:1', 'holdfast:50051', 'localhost.example.com:1', '127.0.0.1.example.com:1', '[::2]:1'])(
  '%s is another machine',
  (address) => expect(isLoopback(address)).toBe(false),
);

test('a token without TLS is refused for another machine, and the error names the address and no token', async () => {
  const failing = connect(['127.0.0.1:1', '192.0.2.1:50051'], { token: 'secret' });
  const error: unknown = await failing.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(CredentialError);
  expect(error).toMatchObject({ reason: 'TOKEN_WITHOUT_TLS' });
  expect((error as Error).message).toMatch(/192\.0\.2\.1:50051.*allowInsecureToken/);
  expect((error as Error).message).not.toContain('secret');
});

test('the caller can allow a token without TLS', async () => {
  const options = { token: 'secret', allowInsecureToken: true, timeout: 50 };
  await expect(connect('192.0.2.1:50051', options)).rejects.toMatchObject({ name: 'UnavailableError' });
});

test('an aborted signal ends `connect` with the reason of the caller', async () => {
  const early = connect('127.0.0.1:1', { signal: AbortSignal.abort(new Error('enough')) });
  await expect(early).rejects.toThrow('enough');
  const abort = new AbortController();
  const connecting = connect('127.0.0.1:1', { signal: abort.signal });
  abort.abort(new Error('later'));
  await expect(connecting).rejects.toThrow('later');
});
