/** The longest name of a lock, semaphore, list or dictionary, in bytes of UTF-8. */
export const MAX_NAME_BYTES = 512;
