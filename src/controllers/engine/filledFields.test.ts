import { expect } from 'chai'
import { controllerWorld } from '../../../test/worlds/runner.ts'
import type { KubeObject } from '../../core/object.ts'
import { VectorCluster } from '../../crds/vector.ts'
import { FakeKubeClient } from '../../kube/fake.ts'
import { FILL_FIELD_MANAGER, releaseFilledFields } from './filledFields.ts'

const { resource, apiVersion } = VectorCluster
const REF = { namespace: 'search', name: 'orders' }

/** An entry of metadata.managedFields, as the API server writes it. */
const fieldsOf = (manager: string, fields: object, subresource?: string) => ({
  manager,
  operation: 'Update',
  apiVersion,
  fieldsType: 'FieldsV1',
  fieldsV1: fields,
  ...(subresource !== undefined && { subresource }),
})
const OURS = fieldsOf(FILL_FIELD_MANAGER, { 'f:spec': { 'f:replicas': {} } })
const GIT = { ...fieldsOf('git', { 'f:spec': { 'f:computePlan': {} } }), operation: 'Apply' }
const STATUS = fieldsOf('freehold-controllers', { 'f:status': { 'f:phase': {} } }, 'status')

describe('releaseFilledFields', () => {
  const stored = (managedFields: object[]) => {
    const client = new FakeKubeClient()
    const metadata = { ...REF, managedFields }
    const seeded = client.seed(resource, {
      apiVersion,
      kind: VectorCluster.kind,
      metadata,
      spec: { replicas: 1 },
    } as KubeObject)
    return { client, seeded }
  }

  it('removes our manager from managedFields and keeps other managers and the value', async () => {
    const { client, seeded } = stored([GIT, OURS, STATUS])
    const given = await releaseFilledFields(client, resource, seeded)
    expect(given.metadata.managedFields).to.deep.equal([GIT, STATUS])
    expect(given.spec, 'the value stays').to.deep.equal({ replicas: 1 })
    expect(await client.get(resource, REF)).to.deep.equal(given)
  })

  for (const [what, managedFields] of [
    ['we own no field', [GIT, STATUS]],
    ['there are no managedFields', []],
    ['no manager would be left, because the API server ignores an empty list', [OURS]],
  ] as const)
    it(`writes nothing if ${what}`, async () => {
      const { client, seeded } = stored([...managedFields])
      expect(await releaseFilledFields(client, resource, seeded)).to.equal(seeded)
      expect(client.calls).to.deep.equal([])
    })

  it('returns the object unchanged after a conflict and keeps the fields of others', async () => {
    const { client, seeded } = stored([GIT, OURS])
    const theirs = { ...GIT, manager: 'kubectl' }
    client.edit(resource, REF, ({ metadata }) => metadata.managedFields?.push(theirs))
    expect(await releaseFilledFields(client, resource, seeded)).to.equal(seeded)
    expect((await client.get(resource, REF)).metadata.managedFields).to.deep.equal([GIT, OURS, theirs])
  })

  it('returns the object unchanged if it was deleted meanwhile', async () => {
    const { client, seeded } = stored([GIT, OURS])
    await client.remove(resource, REF)
    expect(await releaseFilledFields(client, resource, seeded)).to.equal(seeded)
  })

  it('throws other errors', async () => {
    const { client, seeded } = stored([GIT, OURS])
    client.fail('patch', resource, 'Unavailable')
    const failure = await releaseFilledFields(client, resource, seeded).catch((error: unknown) => error)
    expect(failure).to.have.property('reason', 'Unavailable')
  })
})

describe('Runner', () => {
  const world = controllerWorld()
  const managers = async () => (await world.stored('orders')).metadata.managedFields

  it('releases filled fields that a killed process left, once', async () => {
    world.make()
    world.seed('orders', { managedFields: [GIT, OURS] })
    await world.bench.start()
    expect(await managers()).to.deep.equal([GIT])
    world.bench.writes()
    await world.bench.rest()
    expect(world.bench.writes(), 'once is enough').to.deep.equal([])
  })
})
