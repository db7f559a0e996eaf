/**
 * Makes the Maven artefacts dev.holdfast:holdfast-client and dev.holdfast:holdfast-grpc, the client and its stubs:
 *
 *     node tools/pack-java.mjs [FOLDER]      default: dist/packages/java
 *
 * Each with its sources and its documentation. The folder is then a Maven repository, for `<url>file://FOLDER</url>` in another pom. The same sources and the same JDK
 * give the same bytes. Needs a JDK and Maven.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const STUBS = 'generated/java';
const CLIENT = 'clients/java';

/** Builds in a copy, so that two packs at once do not disturb each other. */
function build(stage) {
  const isSource = (path) => !['target', 'test', 'conformance'].includes(basename(path));
  for (const folder of [STUBS, CLIENT]) {
    cpSync(join(root, folder), join(stage, folder), { recursive: true, filter: isSource });
    cpSync(join(root, 'LICENSE'), join(stage, folder, 'src/main/resources/META-INF/LICENSE'));
  }
  const args = ['-q', '-B', '-f', join(stage, CLIENT, 'build/pom.xml'), '-P', 'release', 'package'];
  const projects = ['-pl', ':holdfast-grpc,:holdfast-client'];
  execFileSync('mvn', [...args, ...projects], { stdio: ['ignore', 'inherit', 'inherit'] });
}

function write(path, content) {
  writeFileSync(path, content);
  writeFileSync(`${path}.sha1`, createHash('sha1').update(content).digest('hex'));
}

/** Puts one artefact where Maven looks for it. */
function publish(source, artifact, version, target) {
  const folder = join(target, 'dev', 'holdfast', artifact, version);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const name = `${artifact}-${version}`;
  for (const jar of [`${name}.jar`, `${name}-sources.jar`, `${name}-javadoc.jar`])
    write(join(folder, jar), readFileSync(join(source, 'target', jar)));
  write(join(folder, `${name}.pom`), readFileSync(join(source, 'pom.xml')));
}

function pack(target) {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const stage = mkdtempSync(join(tmpdir(), 'holdfast-java-'));
  try {
    build(stage);
    publish(join(stage, STUBS), 'holdfast-grpc', version, target);
    publish(join(stage, CLIENT), 'holdfast-client', version, target);
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
  return `dev.holdfast:holdfast-client:${version} in ${target}`;
}

console.log(pack(resolve(process.argv[2] ?? join(root, 'dist', 'packages', 'java'))));
