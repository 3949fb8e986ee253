export type BenchmarkOptions = {
  rounds: number
  /** Of each arm of a round, or of the whole for those that watch the clock. */
  seconds: number
  /** Objects; each benchmark has its own default. */
  count: number | undefined
}
