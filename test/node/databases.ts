import { pod } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { call, expectCall, uniqueName, until } from '../worlds/platform.ts'
import { logOf, podIn, shellPod } from './shell.ts'

type Database = { status: string; statusMessage: string; readyReplicas: number }
type Place = { client: KubeClient; namespace: string /** Of PostgreSQL. */; version: string }

export type Databases = ReturnType<typeof databasesIn>

/** Relational databases of a group, by their paths. */
export function databasesIn({ client, namespace, version }: Place) {
  const untilIt = (of: string, sentence: string, is: (database: Database) => boolean) =>
    until(
      `it ${sentence}`,
      async () => {
        const { body } = await expectCall<Database>(200, 'GET', of)
        if (is(body)) return body
        throw new Error(`${body.status}: ${body.statusMessage}`)
      },
      800_000,
    )

  async function untilServed(of: string): Promise<void> {
    await untilIt(of, 'runs', ({ status }) => status === 'Running')
    await until('the logins are made', async () => (await call('GET', `${of}/editor/schemas`)).status === 200)
  }

  /** The output of psql in a pod of the group, with the string from REST. */
  async function ask(of: string, statement: string): Promise<string> {
    const { body } = await expectCall<{ connectionString: string }>(200, 'GET', `${of}/connectionstring`)
    const command = `PGCONNECT_TIMEOUT=10 psql '${body.connectionString}' -qAtc '${statement}' 2>&1`
    const image = `ghcr.io/cloudnative-pg/postgresql:${version}`
    const made = shellPod(uniqueName('client'), namespace, command, { image })
    await client.create(pod, made)
    const ref = { namespace, name: made.metadata.name }
    const { status } = await podIn(client, ref, 'Succeeded', 'Failed')
    const text = await logOf(client, ref)
    if (status?.phase !== 'Succeeded') throw new Error(text)
    return text.trim()
  }

  /** Takes a snapshot. @returns its id */
  async function snapshotOf(of: string, body: object): Promise<string> {
    // The first one of the schedule may still be running.
    const { id } = await until('the snapshot begins', async () => {
      const answer = await call<{ id: string; code?: string }>('POST', `${of}/snapshots`, body)
      if (answer.status === 202) return answer.body
      throw new Error(answer.body.code)
    })
    await until(
      'the snapshot is completed',
      async () => {
        const { body } = await expectCall<{ items: { id: string; status: string }[] }>(200, 'GET', `${of}/snapshots`)
        const found = body.items.find((each) => each.id === id)
        if (found?.status === 'Completed') return true
        throw new Error(JSON.stringify(found))
      },
      300_000,
    )
    return id
  }

  return { untilIt, untilServed, ask, snapshotOf }
}
