/** The variable that names the lifeline's socket; set by global-setup.ts. */
const VARIABLE = 'HOLDFAST_TEST_LIFELINE';

/**
 * The socket that the test run's main process holds open. Processes that a test starts end when it closes: a
 * killed test run leaves its workers behind, and they would leave their servers.
 */
export function lifeline(): { readonly lifeline?: string } {
  const socket = process.env[VARIABLE];
  return socket === undefined ? {} : { lifeline: socket };
}

export function announceLifeline(socket: string): void {
  process.env[VARIABLE] = socket;
}
