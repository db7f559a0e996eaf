// Rules for defects that the TypeScript compiler does not report. The most important ones find promises without await.

import tseslint from 'typescript-eslint';

const nodeGlobals = Object.fromEntries(
  ['Buffer', 'URL', 'clearTimeout', 'console', 'performance', 'process', 'setTimeout'].map((name) => [
    name,
    'readonly',
  ]),
);

/** Rules for all files. The rules for TypeScript files follow below. */
const everywhere = {
  'array-callback-return': 'error',
  eqeqeq: 'error',
  'no-async-promise-executor': 'error',
  'no-cond-assign': 'error',
  'no-constant-binary-expression': 'error',
  'no-debugger': 'error',
  'no-dupe-else-if': 'error',
  'no-eval': 'error',
  'no-fallthrough': 'error',
  'no-self-compare': 'error',
  'no-unsafe-finally': 'error',
  'no-useless-escape': 'error',
  'no-var': 'error',
  'object-shorthand': 'error',
  'prefer-const': 'error',
};

const unused = {
  argsIgnorePattern: '^_',
  varsIgnorePattern: '^_',
  caughtErrorsIgnorePattern: '^_',
  destructuredArrayIgnorePattern: '^_',
};

export default tseslint.config(
  { ignores: ['generated/', 'dist/', 'coverage/', '.holdfast/'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error' }, rules: everywhere },
  {
    files: ['**/*.mjs'],
    languageOptions: { globals: nodeGlobals },
    rules: { 'no-undef': 'error', 'no-unused-vars': ['error', unused] },
  },
  {
    files: ['**/*.cjs'],
    languageOptions: {
      sourceType: 'commonjs',
      globals: { ...nodeGlobals, require: 'readonly', module: 'writable', __dirname: 'readonly' },
    },
    rules: { 'no-undef': 'error', 'no-unused-vars': ['error', unused] },
  },
  {
    files: ['**/*.ts', '**/*.cts'],
    languageOptions: {
      parser: tseslint.parser,
      parserOptions: { projectService: true, tsconfigRootDir: `${import.meta.dirname}/..` },
    },
    plugins: { '@typescript-eslint': tseslint.plugin },
    rules: {
      '@typescript-eslint/await-thenable': 'error',
      '@typescript-eslint/ban-ts-comment': ['error', { 'ts-expect-error': 'allow-with-description' }],
      '@typescript-eslint/consistent-type-imports': ['error', { disallowTypeAnnotations: false }],
      '@typescript-eslint/no-array-delete': 'error',
      '@typescript-eslint/no-base-to-string': 'error',
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-for-in-array': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/no-unnecessary-type-assertion': 'error',
      '@typescript-eslint/no-unused-vars': ['error', unused],
      '@typescript-eslint/only-throw-error': 'error',
      '@typescript-eslint/prefer-promise-reject-errors': 'error',
      '@typescript-eslint/restrict-plus-operands': 'error',
      '@typescript-eslint/return-await': ['error', 'error-handling-correctness-only'],
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
    },
  },
  {
    files: ['examples/typescript/**'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            { group: ['../**'], message: 'Import @holdfast/client, as a user of the package does.' },
          ],
        },
      ],
    },
  },
  {
    files: ['test/**'],
    rules: {
      // A test with a missing value fails anyway, so tests may use `!`.
      '@typescript-eslint/no-non-null-assertion': 'off',
      'no-restricted-properties': [
        'error',
        { object: 'fc', property: 'assert', message: 'Use assertWithinTime of support/timed-property.ts.' },
      ],
      'no-restricted-syntax': [
        'error',
        {
          selector: 'Property[key.name="unit"] > Literal[value="binary"]',
          message: 'Use anyCharacter of support/timed-property.ts. This unit costs a second of a core.',
        },
      ],
    },
  },
);
