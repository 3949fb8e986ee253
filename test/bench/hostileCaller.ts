import { setPriority } from 'node:os'
import { Agent, request } from 'undici'

/** What a hostile caller repeats, with so many concurrent requests. */
export type Attack = {
  method: 'GET' | 'POST'
  url: string
  headers: Record<string, string>
  body?: string
  connections: number
  /** PEM of the CA of an https address. */
  ca?: string | undefined
  clientCertificate?: { cert: string; key: string } | undefined
  /** Asks for a name that is new each time. */
  isNew?: boolean
}

/** A process of its own, so that the cost of sending does not count as its effect on others. */
const NICE = 10
setPriority(NICE)

// Its parent may be killed; it would send forever.
process.once('disconnect', () => process.exit())

process.once('message', (attack: Attack) => {
  const { method, url, headers, connections, ca, clientCertificate, isNew } = attack
  const dispatcher = new Agent({
    connections,
    pipelining: 1,
    connect: { ...(ca === undefined ? {} : { ca }), ...clientCertificate },
  })
  let sent = 0
  const statuses: Record<string, number> = {}
  let isOver = false
  const send = async () => {
    while (!isOver) {
      sent += 1
      const target = isNew === true ? `${url}-${sent}` : url
      const answer = await request(target, { method, headers, body: attack.body ?? null, dispatcher }).catch(
        () => undefined,
      )
      await answer?.body.dump().catch(() => undefined)
      const status = String(answer?.statusCode ?? 'none')
      statuses[status] = (statuses[status] ?? 0) + 1
    }
  }
  const all = Promise.all(Array.from({ length: connections }, send))
  process.once('message', () => {
    isOver = true
    void all.then(() => process.send?.(statuses)).then(() => process.disconnect())
  })
})
