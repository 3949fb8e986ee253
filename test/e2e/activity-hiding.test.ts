import { expect } from 'chai'
import type { AnyKind } from '../../src/crds/define.ts'
import { ServerlessFunction } from '../../src/crds/functions.ts'
import { RelationalCluster } from '../../src/crds/relational.ts'
import { VectorCluster } from '../../src/crds/vector.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import {
  expectCall,
  itemsOf,
  makeCaller,
  makeGroupPlace,
  type TestCaller,
  uniqueName,
  until,
} from '../worlds/platform.ts'
import { clientWithToken } from '../worlds/tenant.ts'

type Entry = {
  operation: string
  channel: string
  outcome: string
  actor: { principalId: string | null }
  changes: { path: string }[]
}
type Asked = { method: 'PATCH' | 'DELETE'; query?: string; body?: object }

const PATCH = 'application/merge-patch+json'
const OPTIONS = { apiVersion: 'v1', kind: 'DeleteOptions' }

describe('activity of requests that a member sends with kubectl', () => {
  let caller: TestCaller
  let client: KubeClient
  let namespace: string
  let resources: (collection: string) => string

  before(async () => {
    const place = await makeGroupPlace()
    namespace = place.namespace
    resources = place.resources
    caller = await makeCaller({ Contributor: `/boundaries/${place.boundaryId}` })
    client = await clientWithToken(caller.token)
  })
  after(() => client.close())

  const ask = async ({ resource: { group, version, plural } }: AnyKind, name: string, asked: Asked) => {
    const { method, query = '', body } = asked
    const answer = await client.request({
      method,
      path: `/apis/${group}/${version}/namespaces/${namespace}/${plural}${name && `/${name}`}${query && `?${query}`}`,
      headers: { 'content-type': method === 'PATCH' ? PATCH : 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return { status: answer.status, text: await answer.text() }
  }
  const made = async (kind: AnyKind, spec: object) => {
    const name = uniqueName('thing')
    await expectCall(201, 'POST', `${resources(kind.segment)}/${name}`, spec)
    return name
  }
  /** As soon as one of them is in the expected state. */
  const activityOf = (name: string, isLast: (entry: Entry) => boolean) =>
    until('the activity has the entry', async () => {
      const all = await itemsOf<Entry>(`${resources(VectorCluster.segment)}/${name}/activity?sort=occurredAt`)
      const found = all.filter(({ channel }) => channel === 'Kubernetes')
      const words = found.map(({ operation, outcome, actor }) => `${operation} ${outcome} ${actor.principalId}`)
      return found.some(isLast) && words
    })

  const scaled = (replicas: number) => ({ method: 'PATCH', body: { spec: { replicas } } }) as const
  const writes: [string, Asked][] = [
    ['a field manager that contains dryRun=All', { ...scaled(3), query: 'fieldManager=a?dryRun=All' }],
    ['another query parameter that contains dryRun', { ...scaled(4), query: 'pretty=?dryRun=x' }],
    ['DeleteOptions in the body that override ?dryRun=All', { method: 'DELETE', query: 'dryRun=All', body: OPTIONS }],
  ]
  for (const [way, asked] of writes)
    it(`records a request that only looks like a dry run: ${way}`, async () => {
      const name = await made(VectorCluster, { replicas: 1 })
      expect((await ask(VectorCluster, name, asked)).status).to.equal(200)
      const recorded = await activityOf(name, () => true)
      expect(recorded).to.deep.equal([`${asked.method.toLowerCase()} Succeeded ${caller.principalId}`])
    })

  it('records no dry run, whether the query or the body asks for it', async () => {
    const name = await made(VectorCluster, { replicas: 1 })
    const dry: Asked[] = [
      { ...scaled(5), query: 'dryRun=All' },
      { ...scaled(6), query: 'dry%52un=All' },
      { method: 'DELETE', query: 'dryRun=All' },
      { method: 'DELETE', body: { ...OPTIONS, dryRun: ['All'] } },
    ]
    for (const asked of dry) expect((await ask(VectorCluster, name, asked)).status).to.equal(200)
    await ask(VectorCluster, name, { method: 'PATCH', body: { spec: { tags: { last: 'one' } } } })
    const recorded = await activityOf(name, ({ changes }) => changes.some(({ path }) => path.startsWith('/tags')))
    expect(recorded).to.deep.equal([`patch Succeeded ${caller.principalId}`])
  })

  it('refuses DELETE of a collection, so that each deletion is recorded', async () => {
    const space = uniqueName('fn')
    await expectCall(201, 'POST', `${resources('functionnamespaces')}/${space}`, { runtime: 'nodejs' })
    await expectCall(201, 'POST', `${resources('functionnamespaces')}/${space}/functions/one`, { handler: 'index' })
    const [first, second] = [
      await made(RelationalCluster, {}),
      await made(RelationalCluster, { deletionProtection: true }),
    ]
    for (const kind of [ServerlessFunction, RelationalCluster]) {
      const { status, text } = await ask(kind, '', { method: 'DELETE' })
      expect(status, text).to.equal(403)
      // Another policy may refuse the protected one first.
      if (kind === ServerlessFunction) expect(text).to.include('deleted one by one')
    }
    for (const name of [first, second]) await expectCall(200, 'GET', `${resources('relationalclusters')}/${name}`)
    await expectCall(200, 'GET', `${resources('functionnamespaces')}/${space}/functions/one`)
  })
})
