/** See pid-lock.cjs. */
export declare function processStart(pid: number): string | undefined;
export declare function tryPidLock(
  file: string,
): { taken: true; release: () => void } | { taken: false; pid: number };
export declare function takePidLock(file: string, onWait: (pid: number) => void): Promise<() => void>;
