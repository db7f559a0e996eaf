// For each language: the tools that make code from the contract, and the files of generated/ that they write.

import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join, relative } from 'node:path';

import { buf, root, run } from './run.mjs';
import { goTools, isInstalled, javaTools, pins, pythonTool, rustTool } from './tools.mjs';

const contract = 'proto/holdfast';

/**
 * `outputs`: the files and folders of generated/ that belong only to the language. `generate(out)` writes the outputs
 * into the folder `out`. `missing()` lists the generators that are not installed in exactly the pinned version.
 */
export const languages = {
  typescript: {
    outputs: ['typescript', 'descriptor.binpb'],
    tools: () => [],
    missing: missingNpmPackages,
    generate: (out) => {
      // The server also needs the imports and the standard services of gRPC, so all of proto/ is generated.
      buf([
        'generate',
        'proto',
        '--include-imports',
        ...template('typescript'),
        '-o',
        join(out, 'typescript'),
      ]);
      // Only access.proto imports this file, for its options, which no TypeScript code reads.
      rmSync(join(out, 'typescript/google/protobuf/descriptor.ts'));
      buf(['build', 'proto', '--as-file-descriptor-set', '-o', join(out, 'descriptor.binpb')]);
    },
  },
  python: {
    outputs: ['python'],
    tools: () => [pythonTool()],
    missing: () => notInstalled([pythonTool()]),
    generate: (out) => {
      const python = join(out, 'python');
      packaging('python', python);
      // buf cannot run this generator, because it is a part of grpcio-tools' protoc and no plugin.
      const outputs = ['python', 'grpc_python', 'mypy', 'mypy_grpc'].map((kind) => {
        const quiet = kind.startsWith('mypy') ? 'quiet:' : '';
        return `--${kind}_out=${quiet}${python}`;
      });
      const { bin } = pythonTool();
      const env = { ...process.env, PATH: [bin, process.env.PATH].join(delimiter) };
      run(join(bin, 'python'), ['-m', 'grpc_tools.protoc', '-Iproto', ...outputs, ...contractFiles()], {
        env,
      });
    },
  },
  go: {
    outputs: ['go'],
    tools: goTools,
    missing: () => notInstalled(goTools()),
    generate: (out) => {
      packaging('go', join(out, 'go'));
      generateContract('go', join(out, 'go'), goTools());
    },
  },
  java: {
    outputs: ['java'],
    tools: javaTools,
    missing: () => notInstalled(javaTools()),
    generate: (out) => {
      packaging('java', join(out, 'java'));
      generateContract('java', join(out, 'java'), javaTools());
    },
  },
  rust: {
    outputs: ['rust'],
    tools: () => [rustTool()],
    missing: () => notInstalled([rustTool()]),
    generate: (out) => {
      packaging('rust', join(out, 'rust'));
      const descriptors = join(out, 'rust-descriptors.binpb');
      buf(['build', 'proto', '--as-file-descriptor-set', '-o', descriptors]);
      run(rustTool().bin, [descriptors, join(out, 'rust/src')]);
    },
  },
};

function template(language) {
  return ['--template', `tools/generators/${language}/buf.gen.yaml`];
}

function generateContract(language, out, tools) {
  const bins = tools.map((tool) => tool.bin);
  buf(['generate', 'proto', '--path', contract, ...template(language), '-o', out], bins);
}

function contractFiles() {
  const found = readdirSync(join(root, contract), { recursive: true });
  return found
    .filter((file) => file.endsWith('.proto'))
    .map((file) => `${contract}/${file}`)
    .sort();
}

/** Copies the packaging files of the stubs (go.mod, pom.xml, …) and writes the version of this release into them. */
function packaging(language, out) {
  const from = join(root, 'tools/generators', language);
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  mkdirSync(out, { recursive: true });
  for (const file of readdirSync(from, { recursive: true })) {
    const source = join(from, file);
    if (file === 'buf.gen.yaml' || file.includes('__pycache__') || statSync(source).isDirectory()) continue;
    const target = join(out, relative(from, source));
    cpSync(source, target);
    const text = readFileSync(source, 'utf8');
    if (text.includes('@VERSION@')) writeFileSync(target, text.replaceAll('@VERSION@', version));
  }
}

function notInstalled(tools) {
  return tools.filter((tool) => !isInstalled(tool)).map((tool) => tool.label);
}

function missingNpmPackages() {
  return Object.entries(pins.typescript)
    .filter(([name, version]) => {
      const manifest = join(root, 'node_modules', name, 'package.json');
      return !existsSync(manifest) || JSON.parse(readFileSync(manifest, 'utf8')).version !== version;
    })
    .map(([name, version]) => `${name}@${version}`);
}
