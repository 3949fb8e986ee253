export type BenchmarkOptions = {
  rounds: number
  /** Duration of each arm of a round, or of the whole for time-based benchmarks. */
  seconds: number
  /** Objects; each benchmark has its own default. */
  count: number | undefined
}
