import { PlatformError } from '../../core/errors.ts'
import type { KubeClient } from '../../kube/client.ts'
import type { PodLogs } from './port.ts'

/** Answers of the API server that mean that there is no log: no such pod or run, or its container has not started. */
const NO_LOG = new Set([400, 404])
const LINE_FEED = 0x0a

/**
 * Logs through the API server, which asks the kubelet of the pod's node.
 *
 * @param isPlayed whether pods only seem to run: they write nothing, and no kubelet could be asked
 */
export function kubePodLogs(client: Pick<KubeClient, 'request'>, { isPlayed }: { isPlayed: boolean }): PodLogs {
  return {
    async open({ namespace, pod, container }, { signal, ...window } = {}) {
      if (isPlayed) return undefined
      const answer = await client.request({
        path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/log`,
        query: { container, ...window },
        ...(signal === undefined ? {} : { signal }),
        // The kubelet answers with the first line, which a silent container may never write.
        ...(window.follow === true && { timeout: Number.POSITIVE_INFINITY }),
      })
      if (answer.status === 200) {
        const { tailLines, follow } = window
        return tailLines === undefined || follow === true ? answer.body : firstLines(answer.body, tailLines)
      }
      answer.body.resume()
      if (NO_LOG.has(answer.status)) return undefined
      const message = `The node of pod "${pod}" does not return its log (HTTP ${answer.status}).`
      throw new PlatformError('UPSTREAM_FAILED', message)
    },
  }
}

/** As many lines as there were: the node goes on with those that are written meanwhile, without end if they come fast. */
async function* firstLines(chunks: AsyncIterable<Uint8Array>, most: number): AsyncGenerator<Uint8Array> {
  let left = most
  for await (const chunk of chunks) {
    let end = 0
    while (left > 0) {
      const next = chunk.indexOf(LINE_FEED, end) + 1
      if (next === 0) break
      end = next
      left -= 1
    }
    yield left === 0 ? chunk.subarray(0, end) : chunk
    if (left === 0) return
  }
}
