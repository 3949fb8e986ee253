/** Maps a list in its order, `concurrency` at once. After a failure it begins nothing more. */
export async function mapConcurrently<Given, Made>(
  concurrency: number,
  given: readonly Given[],
  make: (one: Given) => Promise<Made>,
): Promise<Made[]> {
  const made: Made[] = []
  const left = [...given.entries()].reverse()
  const work = async () => {
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      const [at, one] = next
      made[at] = await make(one)
    }
  }
  const workers = Array.from({ length: Math.min(concurrency, given.length) }, work)
  await Promise.all(workers).finally(() => left.splice(0))
  return made
}
