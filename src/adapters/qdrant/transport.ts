import type { Readable } from 'node:stream'
import { request as undiciRequest } from 'undici'
import { readWithin } from '../../core/readWithin.ts'
import { type EngineAnswer, EngineError, type EngineRequest, type EngineTransport } from './port.ts'

/** Answers that we read take a few kilobytes; a longer one is a mistake or an attack. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024

type Target = Parameters<EngineTransport['send']>[0]

/** Connects to the DNS name of the pod, from inside the cluster. */
export function directTransport(origin: (target: Target) => string = podOrigin): EngineTransport {
  return {
    async send(target, { method, path, headers, body, signal }) {
      return readAnswer(target, signal, async () => {
        const answer = await undiciRequest(origin(target) + path, { method, headers, body: body ?? null, signal })
        return { status: answer.statusCode, body: answer.body }
      })
    },
  }
}

function podOrigin({ pod, service, namespace, port }: Target): string {
  return `http://${pod}.${service}.${namespace}.svc:${port}`
}

/** The part of an API server client that is needed here. The client of `src/kube` satisfies it. */
export type RawRequester = {
  request(request: EngineRequest): Promise<{ status: number; body: Readable }>
}

/**
 * Connects through the API server's pod proxy, from outside the cluster. The proxy forwards the header with the key,
 * but not `Authorization`. Needs the verbs get, create and delete on `pods/proxy`.
 */
export function podProxyTransport(client: RawRequester): EngineTransport {
  return {
    async send(target, { method, path, headers, body, signal }) {
      const { namespace, pod, port } = target
      const root = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/http:${encodeURIComponent(pod)}:${port}/proxy`
      const answer = await readAnswer(target, signal, () =>
        client.request({ method, path: root + path, headers, ...(body === undefined ? {} : { body }), signal }),
      )
      // The API server itself refused, which has nothing to do with the engine's keys.
      if (answer.status === 403 && isStatus(answer.text)) throw unreachable(namespace, pod, 'no right on pods/proxy')
      return answer
    },
  }
}

function isStatus(text: string): boolean {
  return /"kind":\s*"Status"/.test(text)
}

async function readAnswer(
  { namespace, pod }: Target,
  signal: AbortSignal,
  send: () => Promise<{ status: number; body: Readable }>,
): Promise<EngineAnswer> {
  try {
    const { status, body } = await send()
    const answer = { status, text: await textOf(body) }
    // A proxy answers with these if the pod does not.
    if (status === 502 || status === 503 || status === 504) throw unreachable(namespace, pod, `HTTP ${status}`)
    return answer
  } catch (thrown) {
    if (thrown instanceof EngineError) throw thrown
    throw unreachable(namespace, pod, signal.aborted ? 'no answer in time' : codeOf(thrown), thrown)
  }
}

async function textOf(body: Readable): Promise<string> {
  const tooLong = () => new EngineError('Unexpected', `The engine's answer is longer than ${MAX_ANSWER_BYTES} bytes.`)
  return (await readWithin(MAX_ANSWER_BYTES, body, tooLong)).toString('utf8')
}

function unreachable(namespace: string, pod: string, why: string, cause?: unknown): EngineError {
  return new EngineError('Unreachable', `Peer "${namespace}/${pod}" does not answer (${why}).`, 0, cause)
}

function codeOf(thrown: unknown): string {
  const code = (thrown as { code?: unknown } | undefined)?.code
  return typeof code === 'string' ? code : 'connection failed'
}
