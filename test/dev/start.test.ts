import { appendFileSync, readFileSync } from 'node:fs';
import { banner, type ServerInfo } from '../../src/dev/banner';
import { endOfLife } from '../../src/dev/start';
import { Authority } from '../support/certificates';
import { isAlive } from '../support/processes/child-program';
import { scratchFolder } from '../support/scratch-folder';
import { redisPid, Started } from './started';

/** start.slow.test.ts has the other starts: with TLS, in a folder in use, after a kill, with a wrong setting. */
test('npm start serves until SIGTERM, and then drains and stops its Redis', async () => {
  const folder = scratchFolder();
  const started = new Started(folder);
  try {
    await started.ready();
    const isOld = endOfLife(process.versions.node, new Date()) !== undefined;
    expect(started.text.match(/has had no fixes/g) ?? []).toHaveLength(isOld ? 1 : 0);
    const pid = await redisPid(folder);
    started.supervisor.signal('SIGTERM');
    expect(await started.ended()).toEqual({ code: 0, signal: null });
    expect(isAlive(pid)).toBe(false);
  } finally {
    await started.supervisor.end();
  }
});

test.each([
  ['20.20.2', '2026-04-30', undefined],
  ['20.11.0', '2026-05-01', '2026-04'],
  ['25.9.0', '2026-11-28', '2026-06'],
  ['24.21.0', '2026-11-28', undefined],
  ['99.0.0', '2099-01-01', undefined],
])('Node %s on %s has had no fixes since: %s', (version, today, month) => {
  expect(endOfLife(version, new Date(`${today}T12:00:00Z`))).toBe(month);
});

const STORE = { description: 'Redis 7.0.15, private', dataFolder: '/home/u/holdfast/.holdfast/redis' };

const OPEN: ServerInfo = {
  listen: '127.0.0.1:50051',
  redis: 'unused',
  version: '1.2.3',
  tlsCert: undefined,
  credentials: { token: false, certificate: false },
};

/** The lines of the banner that a user may copy. */
function commands(server: Partial<ServerInfo>, isUnderNpm = false): string[] {
  return banner({ ...OPEN, ...server }, STORE, isUnderNpm)
    .split('\n')
    .filter((line) => line.startsWith('    '))
    .map((line) => line.trim());
}

describe('the banner of npm start', () => {
  it('shows the address, the store, the data folder and the word DEVELOPMENT', () => {
    const text = banner(OPEN, STORE, true);
    expect(text).toContain('Holdfast 1.2.3');
    expect(text).toContain('DEVELOPMENT: one machine, no TLS, no credentials');
    expect(text).toContain('127.0.0.1:50051');
    expect(text).toContain(STORE.description);
    expect(text).toContain(STORE.dataFolder);
    expect(text).toContain('npm run leader -- demo --value alice');
  });

  it('without npm, shows only commands of an installed program', () => {
    expect(commands({ listen: '127.0.0.1:7' })).toEqual([
      'holdfast lock run hello --address 127.0.0.1:7 -- sleep 5',
      'holdfast lock get hello --address 127.0.0.1:7',
      "holdfast elect demo --address 127.0.0.1:7 --value alice -- sh -c 'echo alice leads; sleep 60'",
      "holdfast elect demo --address 127.0.0.1:7 --value bob -- sh -c 'echo bob leads; sleep 60'",
    ]);
  });

  it('shows commands of the program holdfast for the address of the server', () => {
    expect(commands({}, true).slice(0, 2)).toEqual([
      'npx holdfast lock run hello -- sleep 5',
      'npx holdfast lock get hello',
    ]);
    expect(commands({ listen: '0.0.0.0:50051' }, true)).toEqual(commands({}, true));
    expect(commands({ listen: '0.0.0.0:7' }, true).slice(0, 2)).toEqual([
      'npx holdfast lock run hello --address 127.0.0.1:7 -- sleep 5',
      'npx holdfast lock get hello --address 127.0.0.1:7',
    ]);
    // zsh reads brackets without quotes as a pattern for files.
    expect(commands({ listen: '[::]:7' })[1]).toBe("holdfast lock get hello --address '[::1]:7'");
  });

  it('shows the example programs only for a server that the example programs can call', () => {
    const elect = expect.stringMatching(/^npx holdfast elect /);
    const credentials = { token: true, certificate: false };
    for (const server of [{ listen: '127.0.0.1:7' }, { credentials }]) {
      expect(commands(server, true).slice(-2)).toEqual([elect, elect]);
    }
  });

  it.each([true, false])(
    'shows no command for a unix: address, which clients refuse (npm: %s)',
    (isUnderNpm) => {
      const text = banner({ ...OPEN, listen: 'unix:/run/h.sock' }, STORE, isUnderNpm);
      expect(text).toContain('unix:/run/h.sock');
      expect(text).toContain('set HOLDFAST_LISTEN to host:port');
      expect(text).not.toMatch(/lock run|lock get|elect|npm run/);
    },
  );
});

describe('the banner of a server with TLS', () => {
  const authority = new Authority(scratchFolder());

  it('says whether the server has TLS and requires credentials', () => {
    const credentials = { token: true, certificate: false };
    const text = banner({ ...OPEN, tlsCert: authority.issueForServer().cert, credentials }, STORE, true);
    expect(text).toContain('DEVELOPMENT: one machine, TLS, credentials required');
  });

  it('asks for the authority of the certificate, which the server does not know', () => {
    const { cert } = authority.issueForServer();
    expect(commands({ tlsCert: cert }).slice(0, 3)).toEqual([
      'export HOLDFAST_CA=FILE',
      'holdfast lock run hello --tls -- sleep 5',
      'holdfast lock get hello --tls',
    ]);
  });

  it('trusts the authority in the chain of the server', () => {
    const { cert } = authority.issueForServer();
    appendFileSync(cert, readFileSync(authority.cert));
    expect(commands({ tlsCert: cert })[1]).toBe(`holdfast lock get hello --ca ${cert}`);
  });

  it('names the server as the certificate does, and quotes a path with a space', () => {
    const spaced = new Authority(scratchFolder(), "a user's authority");
    const { cert } = spaced.issue({ names: 'DNS:holdfast.internal,DNS:localhost' });
    appendFileSync(cert, readFileSync(spaced.cert));
    expect(cert).toContain("a user's");
    expect(commands({ tlsCert: cert })[1]).toBe(
      `holdfast lock get hello --ca '${cert.replace("'", "'\\''")}' --server-name holdfast.internal`,
    );
    expect(commands({ tlsCert: cert, listen: 'localhost:50051' })[1]).not.toContain('--server-name');
  });
});

describe('the banner of a server that wants credentials', () => {
  it.each([
    [{ token: true, certificate: false }, ['export HOLDFAST_TOKEN_FILE=FILE']],
    [{ token: false, certificate: true }, ['export HOLDFAST_CERT=FILE HOLDFAST_KEY=FILE']],
    [
      { token: true, certificate: true },
      ['export HOLDFAST_TOKEN_FILE=FILE', 'export HOLDFAST_CERT=FILE HOLDFAST_KEY=FILE'],
    ],
  ])('names the variables of %j', (credentials, expected) => {
    expect(commands({ credentials }).filter((line) => line.startsWith('export'))).toEqual(expected);
  });
});
