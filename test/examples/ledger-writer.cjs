'use strict';
/**
 * Writes to a ledger with one token after the other, most of them rising, and prints when each write was begun, when it was
 * over, and whether it was accepted. `ledger.test.ts` runs several of these at once.
 *
 *     node ledger-writer.cjs <ledger.js> <folder> <writer number> <writes>
 */
const [ledgerModule, folder, writer, writes] = process.argv.slice(2);
const { Ledger } = require(ledgerModule);

const MOST_AGE_US = 5000;

const ledger = new Ledger(folder);
const records = [];
for (let round = 1; round <= Number(writes); round++) {
  // As the lock's: by a clock that all share, and no two writers ever have the same one. Every third is old.
  const age = round % 3 === 0 ? Math.floor(Math.random() * MOST_AGE_US) : 0;
  const token = (process.hrtime.bigint() / 1000n - BigInt(age)) * 10n + BigInt(writer);
  const begun = process.hrtime.bigint();
  const { accepted } = ledger.write(token, writer, `round ${round}`);
  records.push({
    token: Number(token),
    begun: String(begun),
    over: String(process.hrtime.bigint()),
    accepted,
  });
}
process.stdout.write(JSON.stringify(records));
