import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheDirectory } from '../../src/dev/find-redis';
import { takePidLock } from '../../src/dev/pid-lock.cjs';
import { sayNotChecked } from '../support/not-checked';
import { RedisProcess } from '../support/processes/redis-process';
import { ServerProcess } from '../support/processes/server-process';
import { ROOT } from '../support/root';
import { scratchFolder } from '../support/scratch-folder';
import { filesBelow, missingJava } from '../support/toolchains';

/**
 * The tests of the Java client, and its package in an empty folder. A missing toolchain is reported on stderr as "not
 * checked".
 */

const execute = promisify(execFile);
/** The first run downloads the libraries and the plugins of Maven. */
const TIMEOUT_MS = 900_000;

let missing: string | undefined;

beforeAll(async () => {
  missing = await missingJava(join(ROOT, 'clients', 'java', 'build', 'pom.xml'));
}, TIMEOUT_MS);

async function run(program: string, args: readonly string[], cwd = ROOT): Promise<string> {
  try {
    return (await execute(program, args, { cwd, timeout: TIMEOUT_MS, maxBuffer: 1e8 })).stdout;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`${program} ${args.join(' ')} failed:\n${(stdout + stderr).slice(-8000)}`, {
      cause: error,
    });
  }
}

/** Packs the artefacts into a new folder. */
async function pack(): Promise<string> {
  const folder = scratchFolder();
  await run('node', [join(ROOT, 'tools', 'pack-java.mjs'), folder]);
  return folder;
}

test(
  'the tests of the Java client pass',
  async () => {
    if (missing !== undefined) return sayNotChecked('the Java client', missing);
    const args = ['-B', '-f', join(ROOT, 'clients', 'java', 'build', 'pom.xml'), 'test'];
    const output = await run('mvn', [...args, '-pl', ':holdfast-grpc,:holdfast-client']);
    expect(output).toMatch(/Tests run: [1-9]\d*, Failures: 0, Errors: 0, Skipped: 0\n/);
  },
  TIMEOUT_MS,
);

test(
  'two packs of the same sources have the same bytes',
  async () => {
    if (missing !== undefined) return sayNotChecked('the package of the Java client', missing);
    const [first, second] = [await pack(), await pack()].map((folder) =>
      filesBelow(folder).map((path) => [path.slice(folder.length), readFileSync(path, 'base64')]),
    );
    expect(first?.map(([path]) => path)).toHaveLength(16);
    expect(second).toEqual(first);
  },
  TIMEOUT_MS,
);

/** The first whole program of a document, for the server of this test. */
function programOf(document: string, address: string): string {
  const text = readFileSync(join(ROOT, document), 'utf8');
  const [, program] = /```java\n(import [^]*?)```/.exec(text) ?? [];
  if (program === undefined) throw new Error(`${document} has no program`);
  return program.replace('127.0.0.1:50051', address);
}

function pomOf(repository: string): string {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  return `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>com.example</groupId>
  <artifactId>program</artifactId>
  <version>1</version>
  <repositories>
    <repository><id>packed</id><url>file://${repository}</url></repository>
  </repositories>
  <dependencies>
    <dependency>
      <groupId>dev.holdfast</groupId>
      <artifactId>holdfast-client</artifactId>
      <version>${version}</version>
    </dependency>
  </dependencies>
</project>`;
}

/** Maven's local repository of this test, because an older package of the same version may lie in that of the user. */
async function withRepository<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = join((await cacheDirectory(process.env)) ?? tmpdir(), 'java-package-repository');
  const unlock = await takePidLock(`${folder}.lock`, () => undefined);
  try {
    rmSync(join(folder, 'dev', 'holdfast'), { recursive: true, force: true });
    return await use(folder);
  } finally {
    unlock();
  }
}

/** Fetches the packed client with its libraries, as another project does. Resolves to the folder of the jars. */
async function libraries(folder: string): Promise<string> {
  const jars = join(folder, 'lib');
  writeFileSync(join(folder, 'pom.xml'), pomOf(await pack()));
  const copy = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies';
  await withRepository((repository) =>
    run('mvn', ['-q', '-B', `-Dmaven.repo.local=${repository}`, copy, `-DoutputDirectory=${jars}`], folder),
  );
  return join(jars, '*');
}

test(
  'the programs of the documents run in an empty folder with the packed client',
  async () => {
    if (missing !== undefined) return sayNotChecked('the package of the Java client', missing);
    const redis = await RedisProcess.start();
    const server = await ServerProcess.start({ redisUrl: redis.url });
    try {
      const folder = scratchFolder();
      const jars = await libraries(folder);
      const outputs: string[] = [];
      for (const document of ['clients/java/README.md', 'docs/clients/java.md']) {
        const source = join(folder, document.replaceAll('/', '-'));
        mkdirSync(source);
        writeFileSync(join(source, 'Report.java'), programOf(document, server.listen));
        await run(
          'javac',
          ['-Xlint:all,-processing', '-Werror', '-proc:none', '-cp', jars, 'Report.java'],
          source,
        );
        outputs.push(await run('java', ['-cp', `${jars}:.`, 'Report'], source));
      }
      expect(outputs[0]).toMatch(/^the report is written under token \d+\n$/);
      expect(outputs[1]).toMatch(/^(step [123] under token \d+\n){3}$/);
    } finally {
      await server.close();
      await redis.close();
    }
  },
  TIMEOUT_MS,
);
