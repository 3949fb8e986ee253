/** The number of event loop turns that others had meanwhile, and the result. */
export async function turnsDuring<Result>(work: () => Promise<Result>): Promise<{ turns: number; result: Result }> {
  let turns = 0
  let isOver = false
  const count = () => {
    turns += 1
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const result = await work()
  isOver = true
  return { turns, result }
}
