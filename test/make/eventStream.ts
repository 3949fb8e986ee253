/** An event as received; comments have neither field. */
export type SentEvent = {
  readonly event: string
  readonly data: Record<string, unknown>
  readonly id: string | undefined
}

/** A reader of `text/event-stream` (WHATWG HTML, 9.2.6), for the parts of it that the platform uses. */
export class EventStream {
  readonly response: Response
  comments = 0
  readonly #controller: AbortController
  readonly #reader: AsyncIterator<string>
  #rest = ''

  private constructor(response: Response, controller: AbortController) {
    this.response = response
    this.#controller = controller
    if (response.body === null) throw new Error('The answer has no body.')
    this.#reader = response.body.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]()
  }

  static async open(url: string, headers: Record<string, string> = {}): Promise<EventStream> {
    const controller = new AbortController()
    const accept = { accept: 'text/event-stream', ...headers }
    return new EventStream(await fetch(url, { headers: accept, signal: controller.signal }), controller)
  }

  /** Undefined at the end of the stream. */
  async next(): Promise<SentEvent | undefined> {
    for (;;) {
      const block = await this.#block()
      if (block === undefined) return undefined
      if (block.startsWith(':')) this.comments += 1
      const fields = new Map(block.split('\n').map((line) => split(line)))
      const [event, data] = [fields.get('event'), fields.get('data')]
      if (event !== undefined && data !== undefined) return { event, data: JSON.parse(data), id: fields.get('id') }
    }
  }

  /** All events up to and including the first one of this type. */
  async until(type: string): Promise<SentEvent[]> {
    const events: SentEvent[] = []
    for (;;) {
      const event = await this.next()
      if (event === undefined) throw new Error(`The stream ended without "${type}": ${JSON.stringify(events)}`)
      events.push(event)
      if (event.event === type) return events
    }
  }

  close(): void {
    this.#controller.abort()
  }

  async #block(): Promise<string | undefined> {
    for (;;) {
      const end = this.#rest.indexOf('\n\n')
      if (end >= 0) {
        const block = this.#rest.slice(0, end)
        this.#rest = this.#rest.slice(end + 2)
        return block
      }
      const { done, value } = await this.#reader.next()
      if (done === true) return undefined
      this.#rest += value
    }
  }
}

function split(line: string): [string, string] {
  const colon = line.indexOf(':')
  return colon < 0 ? [line, ''] : [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')]
}
