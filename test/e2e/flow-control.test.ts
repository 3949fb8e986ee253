import { expect } from 'chai'
import { CONTROLLERS_ACCOUNT, FACADE_ACCOUNT } from '../../scripts/generate/policies.ts'
import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import { flowSchema, priorityLevelConfiguration } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { makeBoundary, makeCaller, makeGroup, until } from '../worlds/platform.ts'
import { administrator, clientWithToken } from '../worlds/tenant.ts'

/** The API server reports the uids of the flow schema and priority level of a request; these are their names. */
describe('flow control of the API server', () => {
  let admin: KubeClient
  let home: string
  let tenant: KubeClient
  let principalId: string
  const names = new Map<string, string>()

  before(async () => {
    admin = await administrator()
    home = (await makeGroup((await makeBoundary()).id)).namespace
    for (const resource of [flowSchema, priorityLevelConfiguration])
      for (const { metadata } of (await admin.list(resource)).items) names.set(metadata.uid ?? '', metadata.name)
    const caller = await makeCaller()
    principalId = caller.principalId
    tenant = await clientWithToken(caller.token)
    await until('the API server takes tokens', async () => (await tenant.request({ path: '/api' })).status === 200)
  })
  after(async () => {
    await Promise.all([admin, tenant].map((client) => client?.close()))
  })

  async function servedBy(client: KubeClient, path: string): Promise<string> {
    const answer = await client.request({ path })
    await answer.text()
    const { headers } = answer
    const named = ['flowschema', 'prioritylevel'].map((what) =>
      names.get(String(headers[`x-kubernetes-pf-${what}-uid`])),
    )
    return named.join(' at ')
  }

  async function account(name: string): Promise<KubeClient> {
    const answer = await admin.request({
      method: 'POST',
      path: `/api/v1/namespaces/${SYSTEM_NAMESPACE}/serviceaccounts/${name}/token`,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} }),
    })
    return clientWithToken(JSON.parse(await answer.text()).status.token)
  }

  const vectors = () => `/apis/data.freehold.dev/v1alpha1/namespaces/${home}/vectorclusters`

  it('gives requests of a principal one of its own levels, also where they are forbidden', async () => {
    const level = `freehold-principals-${principalId[0]}`
    for (const path of [vectors(), `/api/v1/namespaces/${home}/pods`, '/openapi/v3', '/apis'])
      expect(await servedBy(tenant, path), path).to.equal(`${level} at ${level}`)
  })

  it('gives the accounts of the platform a level of their own', async () => {
    for (const name of [CONTROLLERS_ACCOUNT, FACADE_ACCOUNT]) {
      const client = await account(name)
      expect(await servedBy(client, vectors())).to.equal('freehold-platform at freehold-platform')
      await client.close()
    }
  })

  it('leaves other accounts at the level of Kubernetes', async () => {
    expect(await servedBy(admin, vectors())).to.equal('exempt at exempt')
  })
})
