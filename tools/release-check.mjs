/**
 * Keeps the version of a release the same in all files that name the version. The one in package.json counts.
 *
 *     node tools/release-check.mjs                  names each file with another version
 *     node tools/release-check.mjs --release        also checks that CHANGELOG.md is ready for a release
 *     node tools/release-check.mjs --set 1.2.3      writes the version into all these files
 *     node tools/release-check.mjs --places         prints these files
 *
 * `--root FOLDER` takes another tree. Exits with 1 if there is a problem.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const CRATES = /^(name = "holdfast-(?:client|proto)"\nversion = ")([^"]*)/gm;
const CRATE_OF_STUBS = /^(holdfast-proto = .*version = ")([^"]*)/gm;
const FIRST_IN_TOML = /^(\[(?:package|project)\]\n(?:.+\n)*?version = ")([^"]*)/gm;
const OF_POM = /^( {2}<version>)([^<]*)/gm;
const NPM_PACKAGE = /(holdfast-client-)(\d[^\s/]*)(?=\.tgz)/g;
const WHEEL = /(holdfast-)(\d[^\s/-]*)(?=-py3)/g;
const OF_DEPENDENCY = /(<artifactId>holdfast-client<\/artifactId>\n\s*<version>)([^<]*)/g;
const GO_MODULE = /(holdfast\.dev\/go@v)(\d[^\s]*)/g;

/**
 * The files with the version, and where each has the version: group 2, after group 1. Every file needs at least one match,
 * so that a changed form of a file does not go unnoticed.
 * @type {[file: string, ...patterns: RegExp[]][]}
 */
const PLACES = [
  ['package.json', /^( {2}"version": ")([^"]*)/gm],
  ['package-lock.json', /("name": "holdfast",\n\s*"version": ")([^"]*)/g],
  ['clients/typescript/package.json', /^( {2}"version": ")([^"]*)/gm],
  ['clients/typescript/README.md', NPM_PACKAGE],
  ['docs/clients/typescript.md', NPM_PACKAGE],
  ['clients/python/pyproject.toml', FIRST_IN_TOML],
  ['clients/python/README.md', WHEEL],
  ['docs/clients/python.md', WHEEL],
  ['clients/go/README.md', GO_MODULE],
  ['docs/clients/go.md', GO_MODULE],
  ['examples/go/go.mod', /^(\tholdfast\.dev\/go v)(.*)/gm],
  ['clients/java/pom.xml', OF_POM],
  ['clients/java/build/pom.xml', OF_POM],
  ['clients/java/conformance/pom.xml', OF_POM],
  ['generated/java/pom.xml', OF_POM],
  ['examples/java/pom.xml', OF_POM],
  ['examples/java/build/pom.xml', OF_POM],
  ['clients/java/README.md', OF_DEPENDENCY],
  ['docs/clients/java.md', OF_DEPENDENCY],
  ['clients/rust/Cargo.toml', FIRST_IN_TOML, CRATE_OF_STUBS],
  ['clients/rust/Cargo.lock', CRATES],
  ['clients/rust/conformance/Cargo.toml', CRATE_OF_STUBS],
  ['generated/rust/Cargo.toml', FIRST_IN_TOML],
  ['examples/rust/Cargo.lock', CRATES],
];

/** No pre-releases: Python spells them in another way (1.2.3rc1), so the version would not be the same in all files. */
const VERSION = /^\d+\.\d+\.\d+$/;

function versionProblems(read, version) {
  return PLACES.flatMap(([file, ...patterns]) => {
    const text = read(file);
    return patterns.flatMap((pattern) => {
      const found = [...text.matchAll(pattern)].map(([, , one]) => one);
      if (found.length === 0)
        return [`${file} has no version in the expected form; correct tools/release-check.mjs`];
      const others = [...new Set(found.filter((one) => one !== version))];
      return others.map((one) => `${file} has version ${one}, and package.json has ${version}`);
    });
  });
}

/** A release has its own heading with a day, and nothing is left under [Unreleased]. */
function changelogProblems(text, version) {
  const sections = text.split(/^## /m).slice(1);
  const [unreleased, newest = ''] = sections;
  if (!unreleased?.startsWith('[Unreleased]\n'))
    return ['CHANGELOG.md has no section [Unreleased] at its top'];
  const problems = [];
  if (/^- /m.test(unreleased)) {
    problems.push(`CHANGELOG.md has entries under [Unreleased]; move them under [${version}]`);
  }
  const heading = newest.split('\n')[0] || 'no other heading';
  if (!heading.startsWith(`[${version}] - `) || !/ - \d{4}-\d\d-\d\d$/.test(heading)) {
    problems.push(
      `CHANGELOG.md must have "## [${version}] - YYYY-MM-DD" after [Unreleased], and has: ${heading}`,
    );
  } else if (!/^- /m.test(newest)) {
    problems.push(`CHANGELOG.md has no entry under [${version}]`);
  }
  return problems;
}

function setVersion(root, read, version) {
  for (const [file, ...patterns] of PLACES) {
    const text = patterns.reduce((before, pattern) => before.replace(pattern, `$1${version}`), read(file));
    writeFileSync(join(root, file), text);
  }
}

function main() {
  const { values } = parseArgs({
    options: {
      release: { type: 'boolean', default: false },
      places: { type: 'boolean', default: false },
      set: { type: 'string' },
      root: { type: 'string', default: fileURLToPath(new URL('..', import.meta.url)) },
    },
  });
  const read = (file) => readFileSync(join(values.root, file), 'utf8');
  if (values.places) return PLACES.map(([file]) => file).forEach((file) => console.log(file));
  if (values.set !== undefined) {
    if (!VERSION.test(values.set)) throw new Error(`${values.set} is no version such as 1.2.3`);
    setVersion(values.root, read, values.set);
  }
  const { version } = JSON.parse(read('package.json'));
  const problems = versionProblems(read, version);
  if (values.release) problems.push(...changelogProblems(read('CHANGELOG.md'), version));
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
  else console.log(`version ${version} in ${PLACES.length} files`);
}

try {
  main();
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
