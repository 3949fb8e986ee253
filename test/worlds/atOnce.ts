import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import type { FakeKubeClient } from '../../src/kube/fake.ts'
import { request } from '../make/request.ts'
import { bearer } from './facadeServer.ts'
import { OWNER } from './shop.ts'

type App = (...given: Parameters<NonNullable<Parameters<typeof createServer>[1]>>) => unknown
type Answer = { status: number; body: Record<string, unknown> }

/**
 * Concurrent POSTs, or PUTs, of the owner: nothing is written before all have been read and have read what they depend
 * on. Spread over the given replicas.
 */
export async function postedAtOnce(
  client: FakeKubeClient,
  apps: readonly unknown[],
  posts: readonly { path: string; body: object; method?: 'post' | 'put' }[],
): Promise<Answer[]> {
  let read = 0
  const create = client.create.bind(client)
  client.create = (async (...given: Parameters<typeof create>) => {
    while (read < posts.length) await setImmediate()
    for (let turn = 0; turn < 20; turn += 1) await setImmediate()
    return create(...given)
  }) as typeof create
  const listeners = apps.map((app) =>
    createServer((asked, answer) => {
      asked.once('end', () => {
        read += 1
      })
      ;(app as App)(asked, answer)
    }).listen(0),
  )
  await Promise.all(listeners.map((listener) => once(listener, 'listening')))
  const ports = listeners.map((listener) => (listener.address() as AddressInfo).port)
  const send = ({ path, body, method = 'post' }: (typeof posts)[number], index: number) =>
    request(`http://127.0.0.1:${ports[index % ports.length]}`)
      [method](path)
      .set('authorization', bearer(OWNER))
      .send(body)
  const answers = await Promise.all(posts.map(send))
  for (const listener of listeners) listener.close()
  client.create = create
  return answers.map(({ status, body }) => ({ status, body }))
}
