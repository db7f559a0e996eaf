'use strict';
const vm = require('node:vm');
const Runtime = require('jest-runtime').default;

/**
 * Jest gives each test file its own context, and every module runs again in it. Without this runtime, Jest also reads,
 * transforms and compiles every module again, which is two thirds of the time of a small test file. A worker keeps the
 * text and the compiled script of each module for its next test files.
 */

/** By file. A compiled script belongs to no context, and keeps the functions that V8 compiled when it ran. */
const scripts = new Map();
const { compileFunction } = vm;

// Jest's runtime compiles all modules here. Without `importModuleDynamically`, `import()` is refused, as it is in Jest.
vm.compileFunction = (source, parameters, options) => {
  const { filename, parsingContext } = options;
  if (parsingContext === undefined) return compileFunction(source, parameters, options);
  const head = `(function (${parameters.join(', ')}) {`;
  let kept = scripts.get(filename);
  if (kept?.source !== source || kept.head !== head) {
    const script = new vm.Script(`${head}${source}\n})`, { filename, columnOffset: -head.length });
    kept = { source, head, script };
    scripts.set(filename, kept);
  }
  return kept.script.runInContext(parsingContext);
};

/** The sources of modules by file. Jest's runtime clears this map at the end of each test file. */
class KeptSources extends Map {
  clear() {}
}

const sources = new KeptSources();
const transformed = new Map();

/** Transforms each file once. */
function keepingTransformer(transformer) {
  return new Proxy(transformer, {
    get(target, property) {
      if (property !== 'transform') {
        const value = Reflect.get(target, property);
        return typeof value === 'function' ? value.bind(target) : value;
      }
      return (filename, ...rest) => {
        let result = transformed.get(filename);
        if (result === undefined) {
          result = target.transform(filename, ...rest);
          transformed.set(filename, result);
        }
        return result;
      };
    },
  });
}

class KeepingRuntime extends Runtime {
  constructor(config, environment, resolver, transformer, cacheFS, coverage, testPath, globalConfig) {
    const { watch, watchAll } = globalConfig;
    // Files do not change during a run, except when Jest watches them.
    const keeps = !watch && !watchAll && !coverage.collectCoverage;
    if (keeps) for (const [file, source] of cacheFS) sources.set(file, source);
    super(
      config,
      environment,
      resolver,
      keeps ? keepingTransformer(transformer) : transformer,
      keeps ? sources : cacheFS,
      coverage,
      testPath,
      globalConfig,
    );
  }
}

module.exports = KeepingRuntime;
