const { NODE_COMPILE_CACHE } = process.env

/** What a run of the tests takes from the environment. Only this file reads it. */
export const TEST_CONFIG = {
  /** Seed of everything that is random in a test. */
  seed: Number(process.env.FREEHOLD_TEST_SEED ?? 1),
  /** How many: `npm test` takes a sample, `npm run faults` all (FREEHOLD_TEST_FULL=true). */
  sized: (sample: number, all: number) => (process.env.FREEHOLD_TEST_FULL === 'true' ? all : sample),
  /** Whether the bundle of the image was made of these sources: an operator starts from it in two thirds of the time. */
  isBundled: process.env.FREEHOLD_TEST_BUNDLED === 'true',
  /** For a process of ours with an environment of its own: with what was compiled before it starts in half the time. */
  compiled: (NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }) as Readonly<Record<string, string>>,
} as const
