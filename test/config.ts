const { NODE_COMPILE_CACHE } = process.env

/** The environment variables of a test run. Only this file reads them. */
export const TEST_CONFIG = {
  /** Seed of everything that is random in a test. */
  seed: Number(process.env.FREEHOLD_TEST_SEED ?? 1),
  /** Sizes: `npm test` takes a sample, `npm run faults` everything (FREEHOLD_TEST_FULL=true). */
  sized: (sample: number, all: number) => (process.env.FREEHOLD_TEST_FULL === 'true' ? all : sample),
  /** Whether the bundle was built from these sources: an operator starts from it in two thirds of the time. */
  isBundled: process.env.FREEHOLD_TEST_BUNDLED === 'true',
  /** For a process of ours with its own environment: with cached compiled code it starts in half the time. */
  compiled: (NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }) as Readonly<Record<string, string>>,
} as const
