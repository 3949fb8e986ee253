import { expect } from 'chai'
import { valueSecretName } from '../../src/contracts/blueprints/executions.ts'
import { entryName } from '../../src/contracts/vaults/names.ts'
import { BLUEPRINT_ANNOTATION } from '../../src/core/labels.ts'
import { boundaryNamespace } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { BlueprintExecution, BlueprintTemplate } from '../../src/crds/blueprints.ts'
import { SecretVault } from '../../src/crds/vaults.ts'
import { secret } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import { call, expectCall, makeGroupPlace, uniqueName, until } from '../worlds/platform.ts'
import { administrator, makeServiceAccount } from '../worlds/tenant.ts'

type Step = { component: string; status: string; message: string | null; resourceId: string | null }
type Execution = {
  id: string
  status: string
  message: string | null
  retryOf: string | null
  retriedBy: string | null
  steps: Step[]
  outputs: { name: string; value: string | null; reference: object | null }[]
  parameters: Record<string, string>
}
type Blueprint = { id: string; slug: string; origin: string; isValid: boolean; version: string }

const template = (version: string, field: string) => `format: 1
slug: search
name: Search
version: ${version}
components:
  - name: vectors
    collection: vectorclusters
    resourceName: \${deploy.name}
  - name: vault
    collection: secretvaults
    resourceName: \${deploy.name}-safe
    spec:
      tags: { endpoint: "\${components.vectors.${field}}" }
outputs:
  - { name: endpoint, component: vectors, output: restEndpoint }
  - { name: apiKey, component: vectors, output: apiKey, secret: true }
`

describe('blueprints', () => {
  let client: KubeClient
  let at: Awaited<ReturnType<typeof makeGroupPlace>>
  let clusterId: string
  let catalogue: string
  let group: string

  before(async () => {
    client = await administrator()
    at = await makeGroupPlace()
    catalogue = `/boundaries/${at.boundaryId}/resources/blueprints`
    group = `/boundaries/${at.boundaryId}/resourcegroups/${at.group}/resources`
    const { body } = await expectCall<{ defaultClusterId: string }>(200, 'GET', `/boundaries/${at.boundaryId}`)
    clusterId = body.defaultClusterId
  })
  after(() => client.close())

  const blueprint = async (slug: string) => (await expectCall<Blueprint>(200, 'GET', `${catalogue}/${slug}`)).body
  async function deploy(slug: string, name: string, body: object = {}): Promise<Execution> {
    const { id: blueprintId } = await blueprint(slug)
    const whole = { blueprintId, clusterId, name, ...body }
    return (await expectCall<Execution>(202, 'POST', `${group}/blueprints/${slug}/deploy`, whole)).body
  }
  const ends = (id: string, status: string) =>
    until(`execution ${id} is ${status}`, async () => {
      const { body } = await expectCall<Execution>(200, 'GET', `${catalogue}/deploys/${id}`)
      if (body.status !== status) throw new Error(`${body.status}: ${body.message}`)
      return body
    })

  it('lists the built-in ones, and deploys a vault with a generated password that nothing else stores', async () => {
    const { body } = await expectCall<{ items: Blueprint[] }>(200, 'GET', `${catalogue}?filter=origin:eq:BuiltIn`)
    expect(body.items.map(({ slug }) => slug)).to.include.members([
      'vector-database',
      'web-with-database',
      'secret-vault',
    ])
    expect(body.items.every(({ isValid }) => isValid)).to.equal(true)
    const [first] = body.items
    expect((await blueprint(first?.id ?? '')).slug).to.equal(first?.slug)
    const name = uniqueName('safe')
    const { id } = await deploy('secret-vault', name, { parameters: { secretName: 'Login' } })
    const done = await ends(id, 'Succeeded')
    expect(done.parameters).to.deep.equal({ secretName: 'Login', password: '***' })
    expect(done.steps.map(({ component, status }) => `${component} ${status}`)).to.deep.equal([
      'vault Ready',
      'password Ready',
    ])
    const { body: value } = await expectCall<{ value: string }>(
      200,
      'GET',
      `${group}/secretvaults/${name}/secrets/Login`,
    )
    expect(value.value).to.match(/^[\w-]{32}$/)
    const stored = await client.get(BlueprintExecution.resource, {
      namespace: boundaryNamespace(at.boundaryId),
      name: id,
    })
    expect(JSON.stringify(stored)).not.to.include(value.value)
    const left = { namespace: at.namespace, name: valueSecretName(entryName(name, 'Login')) }
    const gone = await client.get(secret, left).catch((error) => error)
    expect(isKubeError(gone, 'NotFound')).to.equal(true)
    const vault = await client.get(SecretVault.resource, { namespace: at.namespace, name })
    expect(vault.metadata.annotations?.[BLUEPRINT_ANNOTATION]).to.equal(`${name}/vault`)
  })

  it('passes outputs of one component to the next, and updates earlier objects', async () => {
    const content = template('1.0.0', 'restEndpoint')
    const { body: judged } = await expectCall<object>(200, 'POST', `${catalogue}/templates/validate`, { content })
    expect(judged).to.deep.include({ isValid: true, slug: 'search', problems: [] })
    await expectCall(201, 'POST', `${catalogue}/templates`, { content })
    const name = uniqueName('find')
    const done = await ends((await deploy('search', name)).id, 'Succeeded')
    const [endpoint, apiKey] = done.outputs
    expect(endpoint?.value).to.include(`vc-${name}`)
    expect(apiKey).to.deep.include({ value: null, reference: { collection: 'vectorclusters', name, output: 'apiKey' } })
    const { body: vault } = await expectCall<{ tags: object }>(200, 'GET', `${group}/secretvaults/${name}-safe`)
    expect(vault.tags).to.deep.equal({ endpoint: endpoint?.value })
    const componentOverrides = [{ name: 'vectors', replicas: 2 }]
    await ends((await deploy('search', name, { componentOverrides })).id, 'Succeeded')
    const { body: vectors } = await expectCall<{ replicas: number }>(200, 'GET', `${group}/vectorclusters/${name}`)
    expect(vectors.replicas).to.equal(2)
    await expectCall(201, 'POST', `${group}/vectorclusters/${name}-other`, {})
    const { id: blueprintId } = await blueprint('search')
    const body = { blueprintId, clusterId, name: `${name}-other` }
    const refused = await expectCall<{ code: string }>(409, 'POST', `${group}/blueprints/search/deploy`, body)
    expect(refused.body.code).to.equal('RESOURCE_CONFLICT')
  })

  it('fails with the component that cannot be created, keeps the others, and can be retried', async () => {
    const content = template('2.0.0', 'publicEndpoint')
    await expectCall(200, 'POST', `${catalogue}/templates`, { content })
    const name = uniqueName('lost')
    const failed = await ends((await deploy('search', name)).id, 'Failed')
    expect(failed.message).to.equal('Component "vault": components.vectors.publicEndpoint has no value.')
    await expectCall(200, 'GET', `${group}/vectorclusters/${name}`)
    const { body: retry } = await expectCall<Execution>(202, 'POST', `${catalogue}/deploys/${failed.id}/retry`)
    expect(retry.retryOf).to.equal(failed.id)
    const again = await ends(retry.id, 'Failed')
    expect(again.steps[0]).to.include({ status: 'Ready', message: 'Taken over.' })
    expect((await ends(failed.id, 'Failed')).retriedBy).to.equal(retry.id)
  })

  it('deploys role assignments and functions with the permissions that REST requires', async () => {
    const { clientId, token } = await makeServiceAccount(client)
    const content = `format: 1
slug: granted
name: Granted
version: 1.0.0
components:
  - { name: space, collection: functionnamespaces, resourceName: "\${deploy.name}", spec: { runtime: nodejs } }
  - { name: hello, collection: functions, resourceName: hello, spec: { namespaceName: "\${components.space.name}", handler: index } }
  - { name: grant, collection: roleassignments, resourceName: reader, spec: { principalId: ${clientId}, roleDefinitionName: Reader } }
`
    await expectCall(201, 'POST', `${catalogue}/templates`, { content })
    const name = uniqueName('functions')
    await ends((await deploy('granted', name)).id, 'Succeeded')
    await until('the role counts', () =>
      expectCall(200, 'GET', `${group}/functionnamespaces/${name}/functions/hello`, undefined, { token }),
    )
    const { id: blueprintId } = await blueprint('granted')
    const refused = await call(
      'POST',
      `${group}/blueprints/granted/deploy`,
      { blueprintId, clusterId, name },
      { token },
    )
    expect(refused.body).to.deep.include({ code: 'FORBIDDEN', missing: ['functions/write', 'rbac/members/write'] })
    await expectCall(204, 'DELETE', `${catalogue}/templates/granted`)
    await expectCall(404, 'GET', `${catalogue}/granted`)
  })

  it('stops before the next write when the deployer has lost the permission for it', async () => {
    const { clientId: principalId, token } = await makeServiceAccount(client)
    const roles = `/boundaries/${at.boundaryId}/providers/authorization/roleAssignments`
    const wanted = { principalId, principalType: 'ServicePrincipal', roleDefinitionName: 'Owner' }
    const role = { ...wanted, scope: `/boundaries/${at.boundaryId}` }
    const { body: given } = await expectCall<{ id: string }>(201, 'POST', roles, role)
    const content = `format: 1
slug: slow
name: Slow
version: 1.0.0
components:
  - { name: web, collection: vectorclusters, resourceName: "\${deploy.name}" }
  - { name: last, collection: secretvaults, resourceName: "\${deploy.name}-last", dependsOn: [web] }
`
    await expectCall(201, 'POST', `${catalogue}/templates`, { content })
    const name = uniqueName('slow')
    const { id: blueprintId } = await blueprint('slow')
    const body = { blueprintId, clusterId, name }
    const path = `${group}/blueprints/slow/deploy`
    const noPods = { apiVersion: 'v1', kind: 'ResourceQuota', spec: { hard: { pods: '0' } } }
    const quotas = { group: '', version: 'v1', plural: 'resourcequotas', kind: 'ResourceQuota', namespaced: true }
    await client.create(quotas, { ...noPods, metadata: { namespace: at.namespace, name: 'no-pods' } } as KubeObject)
    const { id } = (await expectCall<Execution>(202, 'POST', path, body, { token })).body
    await until('it waits for its first component', async () => {
      const { body } = await expectCall<Execution>(200, 'GET', `${catalogue}/deploys/${id}`)
      return body.steps.find(({ component }) => component === 'web')?.status === 'Creating'
    })
    await expectCall(204, 'DELETE', `${roles}/${given.id}`)
    await client.remove(quotas, { namespace: at.namespace, name: 'no-pods' })
    const ended = await ends(id, 'Failed')
    expect(ended.message).to.equal(
      'Component "last": Whoever deployed it no longer has the permission secretvault/write for it.',
    )
    await expectCall(404, 'GET', `${group}/secretvaults/${name}-last`)
  })

  it('validates a template that kubectl applies, and reports the error', async () => {
    const namespace = boundaryNamespace(at.boundaryId)
    const { apiVersion, kind, resource } = BlueprintTemplate
    const content =
      'format: 1\nslug: bad\nname: Bad\nversion: 1.0.0\ncomponents:\n  - { name: a, collection: nodes, resourceName: a }\n'
    await client.create(resource, {
      apiVersion,
      kind,
      metadata: { name: 'bad', namespace },
      spec: { slug: 'bad', content },
    })
    await until('the status reports the error', async () => {
      const { status } = (await client.get(resource, { namespace, name: 'bad' })) as unknown as BlueprintTemplate
      expect(status).to.include({ phase: 'ConfigurationInvalid', status: 'Failed' })
      expect(status?.statusMessage).to.match(/^line 6: "nodes" is not a collection/)
      return true
    })
    expect((await blueprint('bad')).isValid).to.equal(false)
    const body = { blueprintId: (await blueprint('bad')).id, clusterId, name: 'bad' }
    expect((await call('POST', `${group}/blueprints/bad/deploy`, body)).body.code).to.equal('TEMPLATE_INVALID')
  })
})
