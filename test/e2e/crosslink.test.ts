import { expect } from 'chai'
import { boundaryNamespace } from '../../src/core/names.ts'
import { BoundaryCrosslink } from '../../src/crds/crosslink.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import { call, expectCall, itemsOf, makeBoundary, makeCaller, makeGroup, until } from '../worlds/platform.ts'
import { administrator } from '../worlds/tenant.ts'

type Links = { enabled: boolean; status: string; phase: string; pkiVersion: number; siteCount: number }

describe('network policies and cross-cluster links of a boundary', () => {
  let admin: KubeClient
  let boundaryId: string
  let own: string
  before(async () => {
    admin = await administrator()
    const boundary = await makeBoundary()
    boundaryId = boundary.id
    own = boundary.defaultClusterId
  })
  after(() => admin?.close())

  it('returns whether policies allow a connection, and the deciding rule', async () => {
    const group = await makeGroup(boundaryId)
    const base = `/boundaries/${boundaryId}/resourcegroups/${group.name}/resources`
    await expectCall(201, 'POST', `${base}/vectorclusters/search`, {})
    await until('its pods are there', async () => {
      const pods = await call<unknown[]>('GET', `${base}/vectorclusters/search`)
      return (pods.body as unknown as { status: string }).status === 'Running'
    })
    const search = { kind: 'Resource', resourceGroup: group.name, name: 'search' }
    const check = async (from: object, port = 6333) => {
      const body = { from, to: search, port, protocol: 'tcp' }
      const path = `/boundaries/${boundaryId}/network/check`
      return (await expectCall<Record<string, Record<string, unknown>>>(200, 'POST', path, body)).body
    }
    const web = { kind: 'Pods', resourceGroup: group.name, labels: { app: 'web' } }
    const allowed = await check(web)
    expect(allowed).to.include({ verdict: 'Allowed', allowed: true })
    expect(allowed.toMatches).to.have.length(1)
    expect((await check({ kind: 'Internet' })).decidedBy).to.include({
      kind: 'PlatformDefault',
      text: 'no rule allows it',
    })
    const status = await expectCall<object>(200, 'GET', `/boundaries/${boundaryId}/network/status`)
    expect(status.body).to.include({ source: 'PolicyOnly', defaultDeny: true, isComplete: false })
    const graph = await expectCall<{ edges: object[] }>(200, 'GET', `/boundaries/${boundaryId}/network/graph`)
    expect(graph.body.edges).to.not.have.length(0)
    expect(await itemsOf(`/boundaries/${boundaryId}/network/denies`)).to.deep.equal([])
    const stranger = await makeCaller()
    await expectCall(403, 'POST', `/boundaries/${boundaryId}/network/check`, {}, stranger)
  })

  it('enables links, reports a missing engine, and rotates their certificate authority', async () => {
    const path = `/boundaries/${boundaryId}/crosslink`
    await expectCall(409, 'POST', `${path}/pki/rotate`)
    await expectCall(200, 'PUT', path, { enabled: true, hubClusterId: own })
    const links = await until('the controller has looked', async () => {
      const { body } = await expectCall<Links>(200, 'GET', path)
      return body.phase === 'EngineMissing' ? body : undefined
    })
    expect(links).to.include({ enabled: true, status: 'Failed', pkiVersion: 1 })
    await expectCall(503, 'POST', `${path}/access-grant`)
    const report = async (observedPkiVersion: number) => {
      const site = { clusterId: own, role: 0, status: 1, linkStatus: 2, observedPkiVersion }
      const body = { observedAtUtc: new Date().toISOString(), sites: [site], exposures: [] }
      return (await expectCall<{ sites: object[] }>(200, 'POST', `${path}/status`, body)).body
    }
    expect((await report(1)).sites[0]).to.include({ clusterId: own, linkStatus: 0 })
    await until('the report shows', async () => (await expectCall<Links>(200, 'GET', path)).body.siteCount === 1)
    const { body: ca } = await expectCall<{ version: number; certificatePem: string }>(
      202,
      'POST',
      `${path}/pki/rotate`,
    )
    expect(ca.version).to.equal(2)
    const made = {
      ...{ caPem: ca.certificatePem, code: 'once', hubEndpoint: 'hub.example.com:55671' },
      ...{ url: 'https://hub.example.com/grants/1', expiresUtc: new Date(Date.now() + 300_000).toISOString() },
    }
    await expectCall(200, 'POST', `${path}/access-grant`, made)
    const { body: open } = await expectCall<object>(200, 'GET', `${path}/access-grant?clusterId=${own}`)
    expect(open).to.include({ code: 'once', url: made.url })
    const running = await expectCall<{ code: string }>(409, 'POST', `${path}/pki/rotate`)
    expect(running.body.code).to.equal('ROTATION_RUNNING')
    await report(2)
    const ref = { namespace: boundaryNamespace(boundaryId), name: 'crosslink' }
    await until('the old authority is dropped', async () => {
      const { status } = (await admin.get(BoundaryCrosslink.resource, ref)) as unknown as BoundaryCrosslink
      return status?.ca?.version === 2 && status.rotation === undefined
    })
  })

  it('enforces the name of a BoundaryCrosslink and the steps of pkiVersion at the API server', async () => {
    const namespace = boundaryNamespace(boundaryId)
    const other = {
      apiVersion: BoundaryCrosslink.apiVersion,
      kind: 'BoundaryCrosslink',
      metadata: { name: 'second', namespace },
    }
    const refused = async (work: Promise<unknown>) => {
      const error = await work.then(
        () => undefined,
        (reason: unknown) => reason,
      )
      if (!isKubeError(error)) throw new Error('It was not refused.')
      return `${error.denial?.message ?? ''} ${error.causes.map(({ message }) => message).join()}`
    }
    expect(await refused(admin.create(BoundaryCrosslink.resource, { ...other, spec: {} }))).to.match(
      /must be crosslink/,
    )
    const skip = admin.mergePatch(
      BoundaryCrosslink.resource,
      { namespace, name: 'crosslink' },
      { spec: { pkiVersion: 9 } },
    )
    expect(await refused(skip)).to.match(/must stay or grow by one/)
  })
})
