import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { eventually } from '../eventually';
import { ROOT } from '../root';
import { scratchFolder } from '../scratch-folder';
import { ChildProgram, freePort, unpackedProgram, type UnpackedProgram } from './child-program';

/** nginx from the PATH or from Debian's package, or the reason why there is none. */
export function findNginx(): Promise<UnpackedProgram | { readonly missing: string }> {
  return unpackedProgram('nginx', 'usr/sbin/nginx', '-v');
}

/** The configuration of docs/operations/proxies.md. */
export function documentedConfiguration(): string {
  const page = readFileSync(join(ROOT, 'docs', 'operations', 'proxies.md'), 'utf8');
  const [, text] = /```nginx\n([^]*?)```/.exec(page) ?? [];
  if (text === undefined) throw new Error('proxies.md has no configuration of nginx');
  return text;
}

/** The same configuration with the defaults of nginx in place of everything that concerns streams. */
export function defaultConfiguration(): string {
  const text = documentedConfiguration();
  return text.replace(/^ *(client_max_body_size|\w+_timeout|http2_max_concurrent_streams) .*\n/gm, '');
}

/** A real nginx in front of servers, in a process of its own. A test closes nginx. */
export class NginxProcess {
  private constructor(
    private readonly child: ChildProgram,
    /** The address for clients. */
    readonly listen: string,
  ) {}

  /** @param servers "host:port" each */
  static async start(
    program: UnpackedProgram,
    configuration: string,
    servers: readonly string[],
  ): Promise<NginxProcess> {
    const port = await freePort();
    const folder = scratchFolder();
    mkdirSync(join(folder, 'temp'));
    const file = join(folder, 'nginx.conf');
    writeFileSync(file, adapted(configuration, folder, port, servers));
    const child = new ChildProgram({
      label: 'nginx',
      command: program.command,
      args: ['-p', folder, '-c', file, '-e', 'stderr'],
      env: program.env,
    });
    await child.start();
    const nginx = new NginxProcess(child, `127.0.0.1:${port}`);
    try {
      await eventually('nginx to listen', () => child.exit !== undefined || accepts(port));
      if (child.exit !== undefined) throw new Error(`nginx ended:\n${child.output.join('\n')}`);
    } catch (error) {
      await nginx.close();
      throw error;
    }
    return nginx;
  }

  async close(): Promise<void> {
    await this.child.close();
  }
}

/** Replaces addresses, and adds what only a test needs: files in a folder of its own, one process, no access log. */
function adapted(text: string, folder: string, port: number, servers: readonly string[]): string {
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${join(folder, 'temp', kind)};`,
  );
  const [first, ...others] = text.split(/^ *server \d.*\n/gm);
  const upstream = servers.map((server) => `    server ${server};\n`).join('');
  return [
    'daemon off; master_process off; error_log stderr;',
    `pid ${join(folder, 'nginx.pid')};`,
    `${first}${upstream}${others.join('')}`
      .replace('http {', `http {\n  access_log off; ${temp.join(' ')}`)
      .replace('listen 50051 http2', `listen 127.0.0.1:${port} http2`),
  ].join('\n');
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.setTimeout(1000, () => socket.destroy());
    socket.once('connect', () => socket.destroy());
  });
}
