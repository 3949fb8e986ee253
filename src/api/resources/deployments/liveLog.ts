import { BUILD_CONTAINERS, BUILD_NAMESPACE } from '../../../contracts/builds/progress.ts'
import { cutLine } from '../../../contracts/logs.ts'
import type { Context } from '../../http/context.ts'
import type { StoredDeployment } from './record.ts'

/** Lines as they come, and the number of the first of them. */
type Lines = { number: number; lines: readonly string[] }

/** Milliseconds between two looks for a container that has not started. */
const NEXT_LOOK = 1_000

/**
 * What the containers of a running build write, one after the other: the same lines that are kept when it is over. Followed
 * to their end if that is asked for, else as far as they are now.
 */
export async function* linesOfBuild(
  context: Context<string, { follow: boolean }>,
  { metadata: { namespace = '', name } }: StoredDeployment,
  isOver: () => boolean,
): AsyncGenerator<Lines> {
  const { services, query, whilePermitted: signal } = context
  let number = 0
  for (const container of BUILD_CONTAINERS) {
    const open = async () => {
      const pod = services.deployments.podOf({ namespace, name })
      if (pod === undefined) return undefined
      const source = { namespace: BUILD_NAMESPACE, pod, container }
      return services.podLogs.open(source, { follow: query.follow, signal })
    }
    let chunks = await open()
    while (chunks === undefined && query.follow && !signal.aborted && !isOver()) {
      await new Promise<void>((resolve) => services.clock.setTimeout(resolve, NEXT_LOOK))
      chunks = await open()
    }
    if (chunks === undefined) return
    for await (const lines of linesOf(chunks)) {
      yield { number, lines }
      number += lines.length
    }
  }
}

/** As the kept log is cut. A line without an end is not told before it has one, or is as long as a line may be. */
async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<readonly string[]> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n').flatMap(cutLine)
    rest = lines.pop() ?? ''
    if (lines.length > 0) yield lines
  }
  if (rest !== '') yield [rest]
}
