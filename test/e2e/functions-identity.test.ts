import { expect } from 'chai'
import { functionObjectName } from '../../src/contracts/functions.ts'
import { IDENTITY_PATH, identityCopyName } from '../../src/contracts/managedIdentities.ts'
import type { KubeObject, Resource } from '../../src/core/object.ts'
import { FunctionNamespace, ServerlessFunction } from '../../src/crds/functions.ts'
import { deployment, secret } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import { objectOf } from '../worlds/fleet.ts'
import { call, expectCall, itemsOf, makeCaller, makeGroupPlace, uniqueName, until } from '../worlds/platform.ts'
import { administrator, clientWithToken, tokenFor } from '../worlds/tenant.ts'

type Problem = { code: string }
type Identity = { id: string; principalId: string; resourceName: string }

const IMAGE = 'docker.io/library/hello:1'
/** Attempts of an attacker who repeatedly recreates a function while its namespace is created. */
const MOST_ATTEMPTS = 8

describe('functions and the identity of their namespace', () => {
  let client: KubeClient
  let at: { boundaryId: string; group: string }
  let namespace: string
  let base: string
  let identities: string

  before(async () => {
    client = await administrator()
    const place = await makeGroupPlace()
    at = place
    namespace = place.namespace
    base = place.resources('functionnamespaces')
    identities = `/boundaries/${at.boundaryId}/resourcegroups/${at.group}/providers/identity/managedidentities`
  })
  after(() => client.close())

  const find = (resource: Resource, one: { namespace: string; name: string }) =>
    client.get(resource, one).catch((error) => (isKubeError(error, 'NotFound') ? undefined : Promise.reject(error)))

  it('sign in with the identity of their namespace, until it is switched off', async () => {
    const owner = uniqueName('owner')
    await expectCall(201, 'POST', `${base}/${owner}`, { runtime: 'nodejs', managedIdentity: true })
    await expectCall(201, 'POST', `${base}/${owner}/functions/one`, { handler: 'index' })
    const one = { namespace, name: functionObjectName(owner, 'one') }
    await client.mergePatch(ServerlessFunction.resource, one, { spec: { image: IMAGE } })
    const volumes = async () => {
      const { items } = await client.list<KubeObject & { spec: { template: object } }>(deployment, { namespace })
      const found = items.find(({ metadata }) => metadata.labels?.['freehold.dev/owner-name'] === one.name)
      return found === undefined ? undefined : JSON.stringify(found.spec.template)
    }
    const identityOf = async () =>
      (await itemsOf<Identity>(`${identities}?resourceName=${owner}`)).find((each) => each.resourceName === owner)
    const template = await until('it has copies', volumes)
    const identity = await until('it has an identity', identityOf)
    const copy = { namespace, name: identityCopyName(identity.id) }
    expect(template).to.contain(`"mountPath":"${IDENTITY_PATH}"`).and.to.contain(copy.name)
    const { data } = await client.get<KubeObject & { data: Record<string, string> }>(secret, copy)
    const file = (name: string) => Buffer.from(data[name] ?? '', 'base64').toString()
    expect(file('client-id')).to.equal(identity.principalId)
    expect(await tokenFor(file('client-id'), file('client-secret'))).to.be.a('string')

    const { body } = await expectCall<{ managedIdentity: boolean }>(200, 'PATCH', `${base}/${owner}`, {
      managedIdentity: false,
    })
    expect(body.managedIdentity).to.equal(false)
    await until('copies no longer mount it', async () => (await volumes())?.includes(IDENTITY_PATH) === false)
    await until('its files are gone', async () => (await find(secret, copy)) === undefined)
    expect((await identityOf())?.principalId, 'the principal with its roles stays').to.equal(identity.principalId)
    await call('DELETE', `${base}/${owner}`)
    await until('the identity is deleted with the namespace', async () => (await identityOf()) === undefined)
  })

  it('refuse an identity whose credentials the writer may not read, by REST and by kubectl', async () => {
    const { token } = await makeCaller({ Contributor: `/boundaries/${at.boundaryId}/resourcegroups/${at.group}` })
    const spec = { runtime: 'nodejs', managedIdentity: true }
    const refused = await call<Problem>('POST', `${base}/${uniqueName('mine')}`, spec, { token })
    expect([refused.status, refused.body.code]).to.deep.equal([403, 'FORBIDDEN'])
    const tenant = await clientWithToken(token)
    try {
      const create = (given: object) =>
        tenant.create(FunctionNamespace.resource, {
          apiVersion: FunctionNamespace.apiVersion,
          kind: FunctionNamespace.kind,
          metadata: { name: uniqueName('mine'), namespace },
          spec: given,
        })
      await until('the API server knows the caller', () => create({ runtime: 'nodejs' }))
      const error = await create(spec).catch((caught: unknown) => caught)
      expect((error as { denial?: { message: string } }).denial?.message).to.match(/credentials that you may not read/)
    } finally {
      await tenant.close()
    }
  })

  it('get no identity if their writer may not read its credentials, also when created in a race', async () => {
    const { token } = await makeCaller({ Contributor: `/boundaries/${at.boundaryId}/resourcegroups/${at.group}` })
    const tenant = await clientWithToken(token)
    const env = [{ name: 'NODE_OPTIONS', value: '--import=data:text/javascript,0' }]
    const made = async (write: Promise<unknown>) => write.then(() => true).catch(() => false)
    const deployments = async () => JSON.stringify((await client.list(deployment, { namespace })).items)
    try {
      await until('the API server knows the caller', () => tenant.list(FunctionNamespace.resource, { namespace }))
      for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
        const late = uniqueName('late')
        const evil = { namespace, name: functionObjectName(late, 'evil') }
        const spec = { namespaceName: late, functionName: 'evil', handler: 'index', env, minReplicas: 1 }
        const plant = () =>
          made(tenant.create(ServerlessFunction.resource, objectOf(ServerlessFunction, evil.name, namespace, spec)))
        const isThere = () => made(tenant.get(FunctionNamespace.resource, { namespace, name: late }))
        let rounds = 0
        const planting = (async () => {
          for (;;) {
            await plant()
            rounds++
            if (await isThere()) return
            await tenant.remove(ServerlessFunction.resource, evil).catch(() => undefined)
          }
        })()
        await until('the race has begun', async () => rounds > 2)
        await expectCall(201, 'POST', `${base}/${late}`, { runtime: 'nodejs', managedIdentity: true })
        await planting
        const planted = await find(ServerlessFunction.resource, evil)
        // An object still terminating from the round before may disappear at any moment.
        if (planted !== undefined && planted.metadata.deletionTimestamp === undefined) {
          await client.mergePatch(ServerlessFunction.resource, evil, { spec: { image: IMAGE } })
          const refused = async () =>
            /may not be given managedidentities/.test(
              JSON.stringify((await find(ServerlessFunction.resource, evil))?.status),
            )
          await until('the status says that it gets no identity', refused)
          expect(await deployments()).to.not.contain(evil.name)
        }
        await call('DELETE', `${base}/${late}`)
      }
    } finally {
      await tenant.close()
    }
  })

  it('get the identity of their namespace later only if their writer may read its credentials', async () => {
    const { token } = await makeCaller({ Contributor: `/boundaries/${at.boundaryId}/resourcegroups/${at.group}` })
    const turned = uniqueName('turned')
    await expectCall(201, 'POST', `${base}/${turned}`, { runtime: 'nodejs' })
    await expectCall(201, 'POST', `${base}/${turned}/functions/mine`, { handler: 'index', minReplicas: 1 })
    await expectCall(201, 'POST', `${base}/${turned}/functions/theirs`, { handler: 'index' }, { token })
    await expectCall(200, 'PATCH', `${base}/${turned}`, { managedIdentity: true })
    type Shown = { phase: string; statusMessage: string }
    const shown = async (name: string) =>
      (await expectCall<Shown>(200, 'GET', `${base}/${turned}/functions/${name}`)).body
    await until(
      'the function of the other writer gets none',
      async () => (await shown('theirs')).phase === 'ConfigurationInvalid',
    )
    expect((await shown('theirs')).statusMessage).to.match(/may not be given managedidentities/)
    expect((await shown('mine')).phase).to.not.equal('ConfigurationInvalid')
    await call('DELETE', `${base}/${turned}`)
  })
})
