/** Version of the session format that this program reads and writes. */
export const SESSION_VERSION = 0;
