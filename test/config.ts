/** What a run of the tests takes from the environment. Only this file reads it. */
export const TEST_CONFIG = {
  /** Seed of everything that is random in a test. */
  seed: Number(process.env.FREEHOLD_TEST_SEED ?? 1),
  /** How many: `npm test` takes a sample, `npm run faults` all (FREEHOLD_TEST_FULL=true). */
  sized: (sample: number, all: number) => (process.env.FREEHOLD_TEST_FULL === 'true' ? all : sample),
  /** Whether the bundle of the image was made of these sources: an operator starts from it in two thirds of the time. */
  isBundled: process.env.FREEHOLD_TEST_BUNDLED === 'true',
} as const
