import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { groupNamespace } from '../../src/core/names.ts'
import { VectorCluster } from '../../src/crds/vector.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import { call, expectCall, makeBoundary, makeCaller, makeGroup, until } from '../worlds/platform.ts'
import { clientWithToken } from '../worlds/tenant.ts'

const MILLISECONDS = 6_000
const AT_MOST = 120_000

describe('a caller with as many requests as possible', () => {
  it('gets 429 with Retry-After, and delays no answer to others by REST or kubectl', async () => {
    const [hostile, other] = [await makeBoundary(), await makeBoundary()]
    const [attacked, quiet] = [await makeGroup(hostile.id), await makeGroup(other.id)]
    const path = `/boundaries/${hostile.id}/resourcegroups/${attacked.name}/resources/sqlclusters/ledger`
    await expectCall(201, 'POST', path, { engine: 'MariaDb' })
    const reader = { token: (await makeCaller({ Reader: `/boundaries/${hostile.id}` })).token }
    const tenant = await makeCaller({ Owner: `/boundaries/${other.id}` })
    const kubectl = await clientWithToken(tenant.token)
    // The slowest input for a SQL parser that a batch may contain.
    const sql = `select ${Array(9_900).fill('a').join(',')}`
    const began = performance.now()
    const asked: string[] = []
    // On a slow machine the attack takes longer to exceed the limit.
    const isOn = () => {
      const milliseconds = performance.now() - began
      return milliseconds < MILLISECONDS || (milliseconds < AT_MOST && !asked.some((answer) => answer !== '200 '))
    }
    const attack = async () => {
      while (isOn()) {
        const { status, headers, body } = await call('POST', `${path}/editor/query`, { sql }, reader)
        asked.push(`${status} ${body.code ?? ''}${headers.get('retry-after') === null ? '' : ' with Retry-After'}`)
      }
    }
    const [byRest, byKubectl] = [new Set<number>(), new Set<string>()]
    const readOn = async () => {
      while (isOn()) {
        byRest.add((await call('GET', `/boundaries/${other.id}`, undefined, { ...tenant, isPatient: false })).status)
        await delay(20)
      }
    }
    const namespace = groupNamespace(other.id, quiet.name)
    const askOn = async () => {
      for (let count = 0; isOn(); count += 1) {
        // A new name each time, because the API server caches answers.
        const ref = { namespace, name: `missing-${count}` }
        const answer = await kubectl.get(VectorCluster.resource, ref).catch((error: unknown) => error)
        byKubectl.add(isKubeError(answer) ? answer.reason : String(answer))
        await delay(20)
      }
    }
    try {
      await until('the API server takes tokens', async () => (await kubectl.request({ path: '/api' })).status === 200)
      await Promise.all([...Array.from({ length: 12 }, attack), readOn(), askOn()])
    } finally {
      await kubectl.close()
    }
    expect([...byRest], 'others by REST').to.deep.equal([200])
    expect([...byKubectl], 'others by kubectl').to.deep.equal(['NotFound'])
    expect([...new Set(asked)].sort()).to.deep.equal(['200 ', '429 TOO_MANY_REQUESTS with Retry-After'])
  })
})
