/**
 * For a program in Node.js that a test waits for without a turn of its own: one that calls `process.exit` while V8 still compiles
 * may wait for itself for ever (nodejs/node#54918), and no timeout of a test would come.
 */
export const WITHIN = { timeout: 120_000, killSignal: 'SIGKILL' } as const
