import { expect } from 'chai'
import { containerNames } from '../../src/contracts/containerinstances.ts'
import { IDENTITY_PATH, identityCopyName } from '../../src/contracts/managedIdentities.ts'
import { boundaryNamespace, groupNamespace } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { ContainerInstance } from '../../src/crds/containerinstances.ts'
import { ManagedIdentity } from '../../src/crds/managedidentities.ts'
import { RoleAssignment } from '../../src/crds/rbac.ts'
import { deployment, secret } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import {
  call,
  expectCall,
  itemsOf,
  makeBoundary,
  makeCaller,
  makeGroup,
  uniqueName,
  until,
} from '../worlds/platform.ts'
import { administrator, clientWithToken, testPlatform } from '../worlds/tenant.ts'

type Instance = { status: string; statusMessage: string }
type Identity = { id: string; principalId: string; resourceName: string; resourceUid: string }
type SecretObject = KubeObject & { data?: Record<string, string> }

const web = { name: 'web', image: 'docker.io/library/nginx:1.29' }

describe('identity and keys of a container instance', () => {
  let client: KubeClient
  let boundaryId: string
  let group: string
  let namespace: string
  let base: string
  let identities: string

  before(async () => {
    client = await administrator()
    boundaryId = (await makeBoundary()).id
    group = (await makeGroup(boundaryId)).name
    namespace = groupNamespace(boundaryId, group)
    base = `/boundaries/${boundaryId}/resourcegroups/${group}/resources`
    identities = `/boundaries/${boundaryId}/resourcegroups/${group}/providers/identity/managedidentities`
  })
  after(() => client.close())

  const at = (name: string) => `${base}/containerinstances/${name}`
  const make = async (body: object) => {
    const name = uniqueName('site')
    await expectCall(201, 'POST', at(name), body)
    return name
  }
  const runs = (name: string) =>
    until(`${name} runs`, async () => {
      const { body } = await expectCall<Instance>(200, 'GET', at(name))
      if (body.status !== 'Running') throw new Error(`${body.status}: ${body.statusMessage}`)
      return body
    })
  const identityOf = async (name: string) =>
    (await itemsOf<Identity>(`${identities}?resourceName=${name}`)).find((one) => one.resourceName === name)
  async function entries(name: string): Promise<Record<string, string> | undefined> {
    try {
      const { data = {} } = await client.get<SecretObject>(secret, { namespace, name })
      return Object.fromEntries(
        Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]),
      )
    } catch (error) {
      if (isKubeError(error, 'NotFound')) return undefined
      throw error
    }
  }
  const signsIn = async (files: Record<string, string> | undefined) => {
    const answer = await fetch(testPlatform().tokenUrl, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: files?.['client-id'] ?? '',
        client_secret: files?.['client-secret'] ?? '',
      }),
    })
    return answer.ok ? ((await answer.json()) as { access_token: string }).access_token : undefined
  }

  it('mounts the credentials of a managed identity, which signs in with the roles assigned to it', async () => {
    const name = await make({ components: [web], managedIdentity: true })
    await runs(name)
    const identity = await until('it has an identity', () => identityOf(name))
    const copy = identityCopyName(identity.id)
    const { spec } = await client.get<KubeObject & { spec: object }>(deployment, {
      namespace,
      name: containerNames(name).component('web'),
    })
    expect(JSON.stringify(spec)).to.contain(`"mountPath":"${IDENTITY_PATH}"`).and.to.contain(copy)
    const files = await entries(copy)
    expect(files?.['client-id']).to.equal(identity.principalId)
    const token = (await until('it signs in', () => signsIn(files))) as string
    expect((await call('GET', at(name), undefined, { token })).status, 'without a role').to.equal(403)
    await client.create(RoleAssignment.resource, {
      apiVersion: RoleAssignment.apiVersion,
      kind: RoleAssignment.kind,
      metadata: { name: uniqueName('identity'), namespace: boundaryNamespace(boundaryId) },
      spec: {
        principalId: identity.principalId,
        principalType: 'ServicePrincipal',
        roleDefinitionName: 'Reader',
        scope: `/boundaries/${boundaryId}/resourcegroups/${group}`,
      },
    })
    await until('its role counts', async () => (await call('GET', at(name), undefined, { token })).status === 200)

    const rotate = `${identities}/${identity.resourceUid}/token?rotate=true`
    const { body: credentials } = await expectCall<{ tokenUrl: string }>(200, 'POST', rotate)
    expect(files?.['token-url']).to.equal(credentials.tokenUrl)
    const rotated = await until('the files have the new secret', async () => {
      const now = await entries(copy)
      return now?.['client-secret'] !== files?.['client-secret'] && now
    })
    await until('it signs in with it', () => signsIn(rotated))
    expect(await signsIn(files), 'with the former secret').to.equal(undefined)

    await client.remove(secret, { namespace, name: copy })
    const anew = await until('the deleted Secret is recreated', async () => {
      const now = await entries(copy)
      return now !== undefined && now['client-secret'] !== rotated['client-secret'] && now
    })
    await until('it signs in with that', () => signsIn(anew))

    await expectCall(200, 'PATCH', at(name), { managedIdentity: false })
    await until('its files are gone', async () => (await entries(copy)) === undefined)
    await until('the former credentials are rejected', async () => (await signsIn(anew)) === undefined)
    expect((await identityOf(name))?.principalId, 'the principal with its roles stays').to.equal(identity.principalId)
    await call('DELETE', at(name))
    await until('the identity is deleted with the instance', async () => (await identityOf(name)) === undefined)
  })

  it('takes over an identity that exists, with new credentials', async () => {
    const name = await make({ components: [web] })
    const { metadata } = await client.get(ContainerInstance.resource, { namespace, name })
    const body = { resourceName: name, resourceType: 'containerinstances', resourceUid: metadata.uid }
    const { body: made } = await expectCall<Identity>(201, 'POST', identities, body)
    await expectCall(200, 'PATCH', at(name), { managedIdentity: true })
    const files = await until('its credentials are mounted', async () => entries(identityCopyName(made.id)))
    expect(files.version).to.equal('2')
    await until('they work', () => signsIn(files))
    const { items } = await client.list(ManagedIdentity.resource, { namespace })
    expect(items.filter(({ spec }) => (spec as { resourceName?: string }).resourceName === name)).to.have.length(1)
  })

  it('rejects an identity whose credentials the writer may not read, by REST and by kubectl', async () => {
    const scope = `/boundaries/${boundaryId}/resourcegroups/${group}`
    const { token } = await makeCaller({ Contributor: scope })
    const owned = await make({ components: [web], managedIdentity: true })
    const asked = { components: [web], managedIdentity: true }
    const refused = await call('POST', at(uniqueName('site')), asked, { token })
    expect([refused.status, refused.body.code]).to.deep.equal([403, 'FORBIDDEN'])
    const changed = { components: [{ ...web, command: ['sh'] }] }
    expect((await call('PATCH', at(owned), changed, { token })).status, 'a change of what it runs').to.equal(403)
    expect((await call('PATCH', at(owned), { tags: { a: 'b' } }, { token })).status, 'another change').to.equal(200)
    const tenant = await clientWithToken(token)
    try {
      const { apiVersion, kind } = ContainerInstance
      const object = (spec: object) => ({ apiVersion, kind, metadata: { name: uniqueName('site'), namespace }, spec })
      await until('the API server knows the caller', () =>
        tenant.create(ContainerInstance.resource, object({ components: [web], running: false })),
      )
      const error = await tenant.create(ContainerInstance.resource, object(asked)).catch((caught: unknown) => caught)
      expect((error as { denial?: { message: string } }).denial?.message).to.match(/credentials that you may not read/)
    } finally {
      await tenant.close()
    }
  })

  it('creates an access key for outputs of an account, replaces a deleted one, and removes it with the outputs', async () => {
    const account = uniqueName('media')
    await expectCall(201, 'POST', `${base}/objectstorageaccounts/${account}`, {})
    const output = (word: string) => ({ collection: 'objectstorageaccounts', name: account, output: word })
    const env = [
      { name: 'ENDPOINT', output: output('endpoint') },
      { name: 'REGION', output: output('regionName') },
      { name: 'KEY_ID', output: output('accessKeyId') },
      { name: 'KEY', output: output('secretAccessKey') },
    ]
    const keys = () =>
      itemsOf<{ id: string; accessKeyId: string }>(`${base}/objectstorageaccounts/${account}/accesskeys`)
    const { token } = await makeCaller({ Reader: `/boundaries/${boundaryId}` })
    expect((await call('POST', at(uniqueName('site')), { components: [{ ...web, env }] }, { token })).status).to.equal(
      403,
    )
    const name = await make({ components: [{ ...web, env }] })
    await runs(name)
    const values = containerNames(name).values('web')
    const given = await entries(values)
    const [key] = await keys()
    expect(given).to.include({ KEY_ID: key?.accessKeyId })
    expect(given?.ENDPOINT).to.match(/^https?:/)
    expect(given?.KEY).to.match(/.{16}/)
    await call('DELETE', `${base}/objectstorageaccounts/${account}/accesskeys/${key?.id}`)
    await until('the components have another key', async () => {
      const now = await entries(values)
      return now?.KEY_ID !== given?.KEY_ID && (await keys()).some(({ accessKeyId }) => accessKeyId === now?.KEY_ID)
    })
    // Keys of consumers do not count towards the limit of keys.
    for (let count = 0; count < 4; count += 1)
      await expectCall(201, 'POST', `${base}/objectstorageaccounts/${account}/accesskeys`, {})
    await expectCall(200, 'PATCH', at(name), { components: [web] })
    await until('its own key is deleted', async () => (await keys()).length === 4)
  })
})
