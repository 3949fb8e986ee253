import type { LogSource, PodLogs } from './port.ts'

/** Logs in memory, with the promises of the real ones. */
export class FakePodLogs implements PodLogs {
  readonly #texts = new Map<string, string>()

  write({ namespace, pod, container }: LogSource, text: string): void {
    const key = `${namespace}/${pod}/${container}`
    this.#texts.set(key, (this.#texts.get(key) ?? '') + text)
  }

  async open({ namespace, pod, container }: LogSource, { tailLines }: Parameters<PodLogs['open']>[1] = {}) {
    const text = this.#texts.get(`${namespace}/${pod}/${container}`)
    if (text === undefined) return undefined
    const lines = text.split('\n')
    const end = text.endsWith('\n') ? lines.length - 1 : lines.length
    const tail = tailLines === undefined ? text : lines.slice(Math.max(0, end - tailLines)).join('\n')
    return chunksOf(Buffer.from(tail))
  }
}

async function* chunksOf(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 4096) yield bytes.subarray(at, at + 4096)
}
