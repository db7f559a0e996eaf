/** The machine's monotonic clock (ms). All processes have the same clock, so their times can be compared. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
