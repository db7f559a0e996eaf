/** A second SIGINT within this time belongs to the same Ctrl-C: under npm, the terminal and npm each send a SIGINT. */
const SAME_CTRL_C_MS = 500;
const INTERRUPTED = 130;

/** Aborts at the first Ctrl-C or SIGTERM. A second signal ends the process immediately. */
export function stopOnSignals(print: (text: string) => void): AbortSignal {
  const stop = new AbortController();
  let firstSignalAt = 0;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (!stop.signal.aborted) {
      firstSignalAt = performance.now();
      print(`${signal}: stopping after this step`);
      stop.abort();
    } else if (performance.now() - firstSignalAt > SAME_CTRL_C_MS) {
      process.exit(INTERRUPTED);
    }
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return stop.signal;
}
