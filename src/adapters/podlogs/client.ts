import { PlatformError } from '../../core/errors.ts'
import type { KubeClient } from '../../kube/client.ts'
import type { PodLogs } from './port.ts'

/** Statuses of the API server that mean there is no log: no such pod or run, or a container that has not started. */
const NO_LOG_STATUSES = new Set([400, 404])
const LINE_FEED = 0x0a

/**
 * Reads logs through the API server, which asks the kubelet of the pod's node.
 *
 * @param isPlayed whether pods are simulated: they write nothing, and there is no kubelet
 * @param maxBytes maximum bytes of a log that is not followed; unlimited by default, for nodes of our own
 */
export function kubePodLogs(
  client: Pick<KubeClient, 'request'>,
  { isSimulated, maxBytes = Number.POSITIVE_INFINITY }: { isSimulated: boolean; maxBytes?: number },
): PodLogs {
  return {
    async open({ namespace, pod, container }, { signal, ...window } = {}) {
      if (isSimulated) return undefined
      const answer = await client.request({
        path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/log`,
        query: { container, ...window },
        ...(signal === undefined ? {} : { signal }),
        // The kubelet sends no headers before the first line, which a silent container may never write.
        ...(window.follow === true && { timeout: Number.POSITIVE_INFINITY }),
      })
      if (answer.status === 200) {
        const { tailLines, follow } = window
        if (follow === true) return answer.body
        const bytes = limitBytes(maxBytes, answer.body, pod)
        return tailLines === undefined ? bytes : firstLines(bytes, tailLines)
      }
      // Drained, so that the connection can be reused.
      answer.text().catch(() => {})
      if (NO_LOG_STATUSES.has(answer.status)) return undefined
      const message = `The node of pod "${pod}" does not return its log (HTTP ${answer.status}).`
      throw new PlatformError('UPSTREAM_FAILED', message)
    },
  }
}

/** Ends after `maxLines` lines: the kubelet also sends lines written meanwhile, without end if they come fast. */
async function* firstLines(chunks: AsyncIterable<Uint8Array>, maxLines: number): AsyncGenerator<Uint8Array> {
  let left = maxLines
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

/** @throws PlatformError UPSTREAM_FAILED beyond the maximum */
async function* limitBytes(
  maxBytes: number,
  bytes: AsyncIterable<Uint8Array>,
  pod: string,
): AsyncGenerator<Uint8Array> {
  let left = maxBytes
  for await (const chunk of bytes) {
    left -= chunk.length
    if (left < 0) throw new PlatformError('UPSTREAM_FAILED', `The log of pod "${pod}" is longer than nodes keep.`)
    yield chunk
  }
}
