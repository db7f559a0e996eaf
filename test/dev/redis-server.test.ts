import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RedisServerProgram } from '../../src/dev/run-command';
import { findRedisServer } from '../../src/dev/find-redis';
import { scratchFolder } from '../support/scratch-folder';

const DEPENDS = `redis-server
  PreDepends: init-system-helpers
  Depends: redis-tools
redis-tools
  Depends: adduser
  Depends: libc6
  Depends: libhiredis1.1.0
init-system-helpers
libc6
libhiredis1.1.0
  Depends: libc6
`;

/** A simulated machine. Its PATH has only the folder of the simulated tools, and its home folder is empty. */
class Machine {
  readonly folder = scratchFolder();
  readonly bin = join(this.folder, 'bin');
  readonly cache = join(this.folder, 'cache');
  readonly calls = join(this.folder, 'calls');
  readonly notes: string[] = [];

  constructor() {
    mkdirSync(this.bin);
    writeFileSync(this.calls, '');
  }

  /** Adds a shell script as a tool. The tool also appends each call to the `calls` file. */
  tool(name: string, script: string): this {
    const file = join(this.bin, name);
    writeFileSync(file, `#!/bin/sh\necho "${name} $*" >> '${this.calls}'\nPATH=/usr/bin:/bin\n${script}\n`);
    chmodSync(file, 0o755);
    return this;
  }

  server(name: string, version: string): this {
    return this.tool(name, `echo '${version} sha=00000000:0 bits=64'`);
  }

  /** Adds Debian's tools. `lists` is true when the machine has package lists. */
  debian({ lists }: { lists: boolean }): this {
    writeFileSync(join(this.folder, 'depends'), DEPENDS);
    const known = lists ? 'true' : '[ -e "$fresh/lists/updated" ]';
    const fresh = `for word; do case $word in Dir::State::Lists=*) fresh=\${word#*=}; fresh=\${fresh%/lists};; esac; done`;
    return this.tool('dpkg-query', `printf 'installed libc6\\ninstalled init-system-helpers\\n'`)
      .tool('apt-cache', `${fresh}\nif ${known}; then cat '${this.folder}/depends'; else exit 100; fi`)
      .tool(
        'apt-get',
        `${fresh}
        case "$*" in
          *update) touch "$fresh/lists/updated";;
          *download*) while [ "$1" != download ]; do shift; done; shift; for name; do touch "$name.deb"; done;;
        esac`,
      )
      .tool(
        'dpkg',
        `case "$1" in -x)
          mkdir -p "$3/usr/bin" "$3/usr/lib/any-linux"
          touch "$3/usr/lib/any-linux/libhiredis.so.1.1.0"
          printf '#!/bin/sh\\n[ -n "$LD_LIBRARY_PATH" ] && echo "Redis server v=7.2.4 sha=0"\\n' > "$3/usr/bin/redis-server"
          chmod 755 "$3/usr/bin/redis-server";;
        esac`,
      );
  }

  called(pattern: RegExp): string[] {
    return readFileSync(this.calls, 'utf8')
      .split('\n')
      .filter((line) => pattern.test(line));
  }

  /** The error message when no server program is found. */
  async refusal(): Promise<string> {
    const found = await this.find().catch((error: Error) => error);
    if (found instanceof Error) return found.message;
    throw new Error(`${found.command} was found`);
  }

  find(): Promise<RedisServerProgram> {
    const env = { PATH: this.bin, XDG_CACHE_HOME: this.cache, HOME: this.folder };
    return findRedisServer({ env, note: (text) => this.notes.push(text) });
  }
}

describe('findRedisServer on the PATH', () => {
  it('finds redis-server', async () => {
    const machine = new Machine().server('redis-server', 'Redis server v=7.0.15');
    expect(await machine.find()).toMatchObject({
      command: join(machine.bin, 'redis-server'),
      product: 'Redis',
      version: '7.0.15',
    });
  });

  it('finds valkey-server', async () => {
    const machine = new Machine().server('valkey-server', 'Valkey server v=8.1.1');
    expect(await machine.find()).toMatchObject({ product: 'Valkey', version: '8.1.1' });
  });

  it('skips a redis-server that is too old and finds a newer valkey-server', async () => {
    const machine = new Machine()
      .server('redis-server', 'Redis server v=6.0.16')
      .server('valkey-server', 'Valkey server v=7.2.5');
    expect(await machine.find()).toMatchObject({ product: 'Valkey' });
  });

  it('reports a version that is too old, and names the package and the setting that help', async () => {
    const machine = new Machine().server('redis-server', 'Redis server v=6.2.14');
    const refusal = await machine.refusal();
    expect(refusal).toMatch(/redis-server is version 6\.2\.14; version 7\.0 or newer is needed/);
    expect(refusal).toMatch(/apt-get install redis-server/);
    expect(refusal).toMatch(/HOLDFAST_REDIS_URL/);
  });

  it('refuses a redis-server that is not Redis, and a valkey-server that does not run', async () => {
    const machine = new Machine()
      .tool('redis-server', 'echo hello')
      .tool('valkey-server', 'echo "cannot open shared object file" >&2; exit 127');
    const refusal = await machine.refusal();
    expect(refusal).toMatch(/is not Redis: its version text is "hello"/);
    expect(refusal).toMatch(/valkey-server does not run: cannot open shared object file/);
  });
});

describe('findRedisServer without a server on the PATH', () => {
  it('unpacks the package of the distribution with the libraries that are not installed, and prints one note', async () => {
    const machine = new Machine().debian({ lists: true });
    const found = await machine.find();
    expect(found.version).toBe('7.2.4');
    expect(found.command.startsWith(join(machine.cache, 'holdfast'))).toBe(true);
    expect(found.env['LD_LIBRARY_PATH']).toMatch(/usr\/lib\/any-linux$/);
    expect(machine.called(/^apt-get.*download/)).toEqual([
      expect.stringMatching(/download redis-server redis-tools libhiredis1\.1\.0$/),
    ]);
    expect(machine.called(/update/)).toEqual([]);
    expect(machine.notes).toHaveLength(1);
  });

  it('downloads the package only once', async () => {
    const machine = new Machine().debian({ lists: true });
    const first = await machine.find();
    writeFileSync(machine.calls, '');
    expect(await machine.find()).toEqual(first);
    expect(machine.called(/^(apt|dpkg)/)).toEqual([]);
  });

  it('downloads package lists when the machine has none', async () => {
    const machine = new Machine().debian({ lists: false });
    expect((await machine.find()).version).toBe('7.2.4');
    expect(machine.called(/update/)).toHaveLength(1);
  });

  it('unpacks the package again when the unpacked program no longer runs', async () => {
    const machine = new Machine().debian({ lists: true });
    const { command } = await machine.find();
    writeFileSync(command, '#!/bin/sh\nexit 1\n');
    expect((await machine.find()).version).toBe('7.2.4');
  });

  it('gives two concurrent calls the same program, and leaves no unfinished folder', async () => {
    const machine = new Machine().debian({ lists: true });
    const [first, second] = await Promise.all([machine.find(), machine.find()]);
    expect(first).toEqual(second);
    expect(spawnSync(first.command, ['--version'], { env: first.env }).stdout.toString()).toMatch(
      /v=7\.2\.4/,
    );
    expect(readdirSync(join(machine.cache, 'holdfast'))).toHaveLength(1);
  });

  it('reports the error of apt-get when the download fails', async () => {
    const machine = new Machine()
      .debian({ lists: true })
      .tool('apt-get', 'case "$*" in *download*) echo "E: Failed to fetch it" >&2; exit 100;; esac');
    await expect(machine.find()).rejects.toThrow(/apt-get download: E: Failed to fetch it/);
    expect(readdirSync(join(machine.cache, 'holdfast'))).toEqual([]);
  });

  it('reports a missing apt-get', async () => {
    await expect(new Machine().find()).rejects.toThrow(/there is no apt-get on this machine/);
  });

  // The other tests use simulated tools. This test downloads with the real tools of the machine.
  (existsSync('/usr/bin/apt-get') ? it : it.skip)(
    'downloads the real package, and the program runs',
    async () => {
      const machine = new Machine();
      for (const tool of ['apt-get', 'apt-cache', 'dpkg', 'dpkg-query'])
        machine.tool(tool, `exec ${tool} "$@"`);
      const found = await machine.find();
      expect(Number(found.version.split('.')[0])).toBeGreaterThanOrEqual(7);
    },
    120_000,
  );
});
