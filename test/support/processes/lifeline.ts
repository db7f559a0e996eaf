/** The variable with the lifeline's socket. Servers refuse unknown variables with the prefix HOLDFAST_. */
const VARIABLE = 'TEST_RUN_LIFELINE';

/**
 * The socket that the main process of the test run keeps open (global-setup.ts). Child processes end when the socket
 * closes, because the workers of a killed test run continue and would keep their servers alive.
 */
export function lifeline(): { readonly lifeline?: string } {
  const socket = process.env[VARIABLE];
  return socket === undefined ? {} : { lifeline: socket };
}

export function announceLifeline(socket: string): void {
  process.env[VARIABLE] = socket;
}
