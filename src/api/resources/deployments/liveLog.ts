import { BUILD_CONTAINERS, BUILD_NAMESPACE } from '../../../contracts/builds/progress.ts'
import { cutLine } from '../../../contracts/logs.ts'
import type { Context } from '../../http/context.ts'
import type { StoredDeployment } from './record.ts'

/** Lines as they arrive, and the number of the first. */
type Lines = { number: number; lines: readonly string[] }

/** Milliseconds between two attempts to read a container that has not started. */
const POLL_INTERVAL_MS = 1_000

/**
 * Yields what the containers of a running build write, one container after the other: the same lines that are stored
 * when the build is over. Follows them to their end if requested, otherwise reads what there is now.
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
      await new Promise<void>((resolve) => services.clock.setTimeout(resolve, POLL_INTERVAL_MS))
      chunks = await open()
    }
    if (chunks === undefined) return
    for await (const lines of linesOf(chunks)) {
      yield { number, lines }
      number += lines.length
    }
  }
}

/** Splits like the stored log. A line is yielded when it ends, or when it has the maximum length. */
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
