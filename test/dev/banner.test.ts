import { banner } from '../../src/dev/banner';

const STORE = { description: 'Redis 7.0.15, private', dataFolder: '/home/u/holdfast/.holdfast/redis' };

function firstCall(listen: string): string {
  const text = banner({ listen, redis: 'unused', version: '1.2.3' }, STORE);
  return (
    text
      .split('\n')
      .find((line) => line.includes('buf curl'))
      ?.trim() ?? ''
  );
}

describe('the banner of npm start', () => {
  it('shows the address, the store, the data folder and the word DEVELOPMENT', () => {
    const text = banner({ listen: '127.0.0.1:50051', redis: 'unused', version: '1.2.3' }, STORE);
    expect(text).toContain('Holdfast 1.2.3');
    expect(text).toContain('DEVELOPMENT: one machine, no TLS, no credentials');
    expect(text).toContain('127.0.0.1:50051');
    expect(text).toContain(STORE.description);
    expect(text).toContain(STORE.dataFolder);
    expect(text).toContain('npm run leader -- demo --value alice');
  });

  it('says whether the server has TLS and requires credentials', () => {
    const server = { listen: '127.0.0.1:1', redis: 'unused', version: '1.2.3' };
    const text = banner({ ...server, tls: true, authentication: true }, STORE);
    expect(text).toContain('DEVELOPMENT: one machine, TLS, credentials required');
  });

  it('shows a command for a first call to the address of the server', () => {
    expect(firstCall('127.0.0.1:50051')).toBe(
      'npx buf curl --protocol grpc ' +
        `--data '{"name":"hello","holder_id":"alice","ttl":"30s","wait_timeout":"0s"}' ` +
        'http://127.0.0.1:50051/holdfast.v1.LockService/AcquireLock',
    );
    expect(firstCall('0.0.0.0:7')).toContain('http://127.0.0.1:7/');
    expect(firstCall('[::]:7')).toContain('http://[::1]:7/');
    expect(firstCall('unix:/run/h.sock')).toContain("--unix-socket '/run/h.sock' http://localhost/");
  });
});
