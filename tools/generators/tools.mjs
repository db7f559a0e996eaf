// Installs the generators of the other languages with the package client of each language.
//
// Each generator is installed outside the repository, in a folder named after its exact version. The folder name proves
// the version, because some generators cannot print their version.

import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

import { root, run } from './run.mjs';

export const pins = JSON.parse(readFileSync(join(root, 'tools/generators.json'), 'utf8'));

const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'holdfast', 'generators');
const exeSuffix = process.platform === 'win32' ? '.exe' : '';

/** @typedef {{ label: string, dir: string, bin: string, toolchain: string, install: (dir: string) => void }} Tool */

/** The marker file is written last, so an interrupted install does not count as complete. */
const marker = (tool) => join(tool.dir, 'installed');

export const isInstalled = (tool) => existsSync(marker(tool));

export function install(tool) {
  if (isInstalled(tool)) return;
  rmSync(tool.dir, { recursive: true, force: true });
  mkdirSync(tool.dir, { recursive: true });
  try {
    tool.install(tool.dir);
  } catch (error) {
    throw new Error(`${tool.label} could not be installed (it needs ${tool.toolchain}): ${error.message}`);
  }
  writeFileSync(marker(tool), `${tool.label}\n`);
}

/** All Python generators share one virtual environment, because they are plugins of one protoc. */
export function pythonTool() {
  const wanted = Object.entries(pins.python).map(([name, version]) => `${name}==${version}`);
  const dir = join(cache, `python-${pins.python['grpcio-tools']}-${pins.python['mypy-protobuf']}`);
  const bin = join(dir, process.platform === 'win32' ? 'Scripts' : 'bin');
  return {
    label: wanted.join(' '),
    dir,
    bin,
    toolchain: 'Python 3.8 to 3.12 with venv and pip',
    install: () => {
      run(process.platform === 'win32' ? 'python' : 'python3', ['-m', 'venv', dir]);
      run(join(bin, 'python'), ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...wanted]);
    },
  };
}

export function goTools() {
  return Object.entries(pins.go).map(([path, version]) => {
    const dir = join(cache, `${path.split('/').at(-1)}-${version}`);
    return {
      label: `${path}@${version}`,
      dir,
      bin: dir,
      toolchain: 'Go',
      install: () => run('go', ['install', `${path}@${version}`], { env: { ...process.env, GOBIN: dir } }),
    };
  });
}

export function javaTools() {
  return Object.entries(pins.java).map(([coordinates, version]) => {
    const name = coordinates.split(':')[1];
    const dir = join(cache, `${name}-${version}`);
    return {
      label: `${coordinates}:${version}`,
      dir,
      bin: dir,
      toolchain: 'Maven',
      install: () => {
        const artifact = `${coordinates}:${version}:exe:${mavenClassifier()}`;
        run('mvn', ['-q', '-B', 'dependency:copy', `-Dartifact=${artifact}`, `-DoutputDirectory=${dir}`], {
          cwd: dir,
        });
        const program = join(dir, `${name}${exeSuffix}`);
        renameSync(join(dir, `${name}-${version}-${mavenClassifier()}.exe`), program);
        chmodSync(program, 0o755);
      },
    };
  });
}

/**
 * The generator of Rust is a program of this repository over pinned libraries. Its folder is named after a digest of its
 * sources, so that a changed program is built anew.
 */
export function rustTool() {
  const sources = join(root, 'tools/generators/rust-generator');
  const digest = createHash('sha256');
  for (const file of ['Cargo.toml', 'Cargo.lock', 'src/main.rs'])
    digest.update(readFileSync(join(sources, file)));
  const dir = join(cache, `rust-${digest.digest('hex').slice(0, 16)}`);
  const name = `holdfast-generator${exeSuffix}`;
  return {
    label: Object.entries(pins.rust)
      .map(([crate, version]) => `${crate}@${version}`)
      .join(' '),
    dir,
    bin: join(dir, name),
    toolchain: 'Rust',
    install: () => {
      const target = join(dir, 'target');
      run('cargo', ['build', '--quiet', '--locked', '--target-dir', target], { cwd: sources });
      copyFileSync(join(target, 'debug', name), join(dir, name));
      rmSync(target, { recursive: true });
    },
  };
}

/** The platform in the names of protoc and its plugins on Maven Central. */
function mavenClassifier() {
  const system = { linux: 'linux', darwin: 'osx', win32: 'windows' }[process.platform];
  const machine = { x64: 'x86_64', arm64: 'aarch_64' }[process.arch];
  if (system === undefined || machine === undefined) {
    throw new Error(`protoc is not available for ${process.platform} on ${process.arch}`);
  }
  return `${system}-${machine}`;
}
