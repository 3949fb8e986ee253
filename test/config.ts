/** What a run of the tests takes from the environment. Only this file reads it. */
export const TEST_CONFIG = {
  /** Questions of the authorization model test; a million before a release. */
  modelQuestions: Number(process.env.FREEHOLD_TEST_MODEL_QUESTIONS ?? 100_000),
  /** Seed of everything that is random in a test. */
  seed: Number(process.env.FREEHOLD_TEST_SEED ?? 1),
} as const
