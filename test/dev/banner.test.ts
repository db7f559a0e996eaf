import { banner } from '../../src/dev/banner';

const STORE = { description: 'Redis 7.0.15, private', dataFolder: '/home/u/holdfast/.holdfast/redis' };

function commands(listen: string): string[] {
  const text = banner({ listen, redis: 'unused', version: '1.2.3' }, STORE, true);
  return text
    .split('\n')
    .filter((line) => line.includes('npx holdfast'))
    .map((line) => line.trim());
}

describe('the banner of npm start', () => {
  it('shows the address, the store, the data folder and the word DEVELOPMENT', () => {
    const text = banner({ listen: '127.0.0.1:50051', redis: 'unused', version: '1.2.3' }, STORE, true);
    expect(text).toContain('Holdfast 1.2.3');
    expect(text).toContain('DEVELOPMENT: one machine, no TLS, no credentials');
    expect(text).toContain('127.0.0.1:50051');
    expect(text).toContain(STORE.description);
    expect(text).toContain(STORE.dataFolder);
    expect(text).toContain('npm run leader -- demo --value alice');
  });

  it('without npm, shows only commands of an installed program', () => {
    const server = { listen: '127.0.0.1:7', redis: 'unused', version: '1.2.3' };
    const text = banner(server, STORE, false);
    const shown = text.split('\n').filter((line) => line.startsWith('    '));
    expect(shown.map((line) => line.trim())).toEqual([
      'holdfast lock run hello --address 127.0.0.1:7 -- sleep 5',
      'holdfast lock get hello --address 127.0.0.1:7',
      "holdfast elect demo --address 127.0.0.1:7 --value alice -- sh -c 'echo alice leads; sleep 60'",
      "holdfast elect demo --address 127.0.0.1:7 --value bob -- sh -c 'echo bob leads; sleep 60'",
    ]);
  });

  it('says whether the server has TLS and requires credentials', () => {
    const server = { listen: '127.0.0.1:1', redis: 'unused', version: '1.2.3' };
    const text = banner({ ...server, tls: true, authentication: true }, STORE, true);
    expect(text).toContain('DEVELOPMENT: one machine, TLS, credentials required');
  });

  it('shows commands of the program holdfast for the address of the server', () => {
    expect(commands('127.0.0.1:50051')).toEqual([
      'npx holdfast lock run hello -- sleep 5',
      'npx holdfast lock get hello',
    ]);
    expect(commands('0.0.0.0:50051')).toEqual(commands('127.0.0.1:50051'));
    expect(commands('0.0.0.0:7')).toEqual([
      'npx holdfast lock run hello --address 127.0.0.1:7 -- sleep 5',
      'npx holdfast lock get hello --address 127.0.0.1:7',
    ]);
    expect(commands('[::]:7')[1]).toBe('npx holdfast lock get hello --address [::1]:7');
  });

  it.each([true, false])(
    'shows no command for a unix: address, which clients refuse (npm: %s)',
    (isUnderNpm) => {
      const text = banner(
        { listen: 'unix:/run/h.sock', redis: 'unused', version: '1.2.3' },
        STORE,
        isUnderNpm,
      );
      expect(text).toContain('unix:/run/h.sock');
      expect(text).toContain('set HOLDFAST_LISTEN to host:port');
      expect(text).not.toMatch(/lock run|lock get|elect|npm run/);
    },
  );
});
