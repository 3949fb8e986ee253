import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { BOUNDARY, startShop } from '../../../test/worlds/shop.ts'
import { FakeCircuit } from '../../adapters/sources/fake.ts'
import { sourceSecretName } from '../../contracts/sources/providers.ts'
import { boundaryNamespace } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { secretData } from '../../core/secretData.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { DeploymentSource } from '../../crds/sources.ts'
import { secret } from '../../kube/builtin.ts'

const THEN = { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['held/test'] }

describe('circuit source', () => {
  const [id, namespace] = [randomUUID(), boundaryNamespace(BOUNDARY)]
  const path = `/boundaries/${BOUNDARY}/sources/circuit/${id}/circuit`
  let shop: Awaited<ReturnType<typeof startShop>>
  beforeEach(async () => {
    shop = await startShop()
    const { baseUrl } = new FakeCircuit()
    const credentials = {
      metadata: { namespace, name: sourceSecretName(id) },
      data: secretData({ token: 'good-token' }),
    }
    shop.client.seed(secret, { apiVersion: 'v1', kind: 'Secret', ...credentials } as KubeObject)
    shop.put(DeploymentSource, id, { provider: 'Circuit', displayName: 'Ours', baseUrl, circuit: {} }, namespace)
  })
  afterEach(() => shop.stop())

  const answers = async () => {
    const settings = await shop.ask('put', path).send({ enabled: true })
    const repository = await shop.ask('post', `${path}/repositories`).send({ name: 'site' })
    return [settings, repository].map(({ status, body }) => [status, body.code])
  }

  it('accepts settings and repositories', async () => {
    expect((await answers()).map(([status]) => status)).to.deep.equal([200, 201])
  })

  for (const kind of [DeploymentSource, Boundary])
    it(`rejects both while its ${kind.kind} is being deleted`, async () => {
      const ref = kind === Boundary ? { name: BOUNDARY } : { namespace, name: id }
      const found = await shop.client.get(kind.resource, ref)
      const leaving = { ...found, metadata: { ...found.metadata, ...THEN } }
      shop.caches.get(kind.resource).observeWrite(shop.client.seed(kind.resource, leaving))
      expect(await answers()).to.deep.equal(Array(2).fill([409, 'invalid-state']))
    })
})
