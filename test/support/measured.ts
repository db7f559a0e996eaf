/** Says what a test has measured, beside what it asserts of it. */
export function sayMeasured(what: string): void {
  process.stderr.write(`measured: ${what}\n`);
}
