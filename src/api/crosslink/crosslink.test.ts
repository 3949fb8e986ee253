import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { CLUSTER } from '../../../test/worlds/facadeServer.ts'
import { BOUNDARY, startShop } from '../../../test/worlds/shop.ts'
import { createAuthority } from '../../composition/certificates.ts'
import type { Grant } from '../../contracts/crosslink.ts'
import { systemClock } from '../../core/clock.ts'
import { boundaryNamespace } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { secretData } from '../../core/secretData.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { BoundaryCrosslink } from '../../crds/crosslink.ts'
import { BoundaryProjection } from '../../crds/projections.ts'
import { secret } from '../../kube/builtin.ts'

const FAR = '88888888-8888-4888-8888-888888888888'
const OTHER = '99999999-9999-4999-8999-999999999999'
const STRANGE = '66666666-6666-4666-8666-666666666666'
const HOME = boundaryNamespace(BOUNDARY)
const NOW = '2026-01-01T00:00:00Z'
const LATER = '2999-01-01T00:00:00Z'
const CONTRIBUTOR = '44444444-4444-4444-8444-444444444444'

describe('crosslink over REST', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  /** How many seconds pass for the facade in one. */
  let speed: number
  const call = async (method: 'get' | 'put' | 'post', path: string, body?: object, as?: string) => {
    const request = server.ask(method, `/boundaries/${BOUNDARY}/crosslink${path}`, as)
    const answer = await (body === undefined ? request : request.send(body))
    return { httpStatus: answer.status, etag: answer.headers.etag, ...answer.body }
  }
  const enable = () => call('put', '', { enabled: true, hubClusterId: CLUSTER })
  const patchStatus = (status: object) =>
    server.client.mergePatch(
      BoundaryCrosslink.resource,
      { namespace: HOME, name: 'crosslink' },
      { status },
      { subresource: 'status' },
    )
  beforeEach(async () => {
    speed = 1
    server = await startShop({}, { clock: { ...systemClock, monotonic: () => performance.now() * speed } })
    for (const id of [FAR, OTHER]) {
      server.put(PlatformCluster, id, {
        name: `c-${id.slice(0, 4)}`,
        displayName: id,
        domain: `${id.slice(0, 4)}.test`,
      })
      server.put(BoundaryProjection, id, { clusterId: id }, HOME)
    }
  })
  afterEach(() => server.stop())

  it('is stopped by default, and is enabled and disabled by PUT', async () => {
    expect(await call('get', '')).to.include({ httpStatus: 200, enabled: false, pkiVersion: 1, status: 'Stopped' })
    expect(await enable()).to.include({ httpStatus: 200, enabled: true, hubClusterId: CLUSTER, hubClusterName: 'Own' })
    const boundary = await server.ask('get', `/boundaries/${BOUNDARY}`)
    expect(boundary.body).to.include({ crosslinkEnabled: true })
    expect(await call('put', '', { enabled: false })).to.include({
      httpStatus: 200,
      enabled: false,
      hubClusterId: null,
    })
  })

  it('requires a hub on which the boundary is projected', async () => {
    const strange = await call('put', '', { enabled: true, hubClusterId: STRANGE })
    expect(strange).to.include({ httpStatus: 422, code: 'CLUSTER_NOT_PROJECTED', field: 'hubClusterId' })
    for (const body of [{ enabled: true }, { enabled: true, hubClusterId: null }]) {
      const missing = await call('put', '', body)
      expect(missing).to.include({ httpStatus: 422, code: 'CLUSTER_NOT_PROJECTED', field: 'hubClusterId' })
      expect(missing.error).to.include('is required while enabled')
    }
  })

  it('accepts the record as read with one field changed, and rejects unknown fields', async () => {
    const { httpStatus: _, etag: __, ...read } = await call('get', '')
    const on = await call('put', '', { ...read, enabled: true, hubClusterId: CLUSTER })
    expect(on).to.include({ httpStatus: 200, enabled: true, hubClusterId: CLUSTER })
    const { httpStatus: ___, etag: ____, ...now } = on
    expect(await call('put', '', { ...now, enabled: false })).to.include({ httpStatus: 200, enabled: false })
    expect(await call('put', '', { ...now, colour: 'red' })).to.include({ httpStatus: 400 })
  })

  it('shows Updating after a change until the controller observes it', async () => {
    await enable()
    const ready = { type: 'Ready', status: 'True', reason: 'Available', message: '', lastTransitionTime: NOW }
    Object.assign(ready, { observedGeneration: 1 })
    await patchStatus({ observedGeneration: 1, firstReadyAt: NOW, conditions: [ready] })
    expect(await call('get', '')).to.include({ status: 'Running' })
    const off = await call('put', '', { enabled: false })
    expect(off).to.include({ enabled: false, status: 'Updating', phase: 'Accepted' })
  })

  it('returns the same ETag for reports and reads', async () => {
    await enable()
    const reported = await call('post', '/status', { observedAtUtc: NOW, sites: [], exposures: [] })
    const read = await call('get', '/status')
    expect(read.etag).to.match(/^"1-/).and.to.equal(reported.etag)
    expect((await call('get', '')).etag).to.equal(read.etag)
  })

  it('rejects another hub while it is running', async () => {
    await enable()
    await patchStatus({ status: 'Running' })
    const refused = await call('put', '', { enabled: true, hubClusterId: FAR })
    expect(refused).to.include({ httpStatus: 409, code: 'INVALID_STATE', status: 'Running' })
    expect(await call('put', '', { enabled: false })).to.include({ httpStatus: 200, enabled: false })
  })

  it('merges reports of agents, ignores older ones, and marks conflicting exposures', async () => {
    await enable()
    const site = (clusterId: string) => ({ clusterId, role: 1, status: 1, linkStatus: 2, observedPkiVersion: 1 })
    const exposure = (clusterId: string) => ({
      ...{ clusterId, kind: 'Service', namespace: 'shop', publishedPort: 80, routingKey: 'web', serviceName: 'web' },
    })
    const report = (clusterId: string, observedAtUtc: string) => ({
      ...{ observedAtUtc, sites: [site(clusterId)], exposures: [exposure(clusterId)] },
    })
    await call('post', '/status', report(FAR, '2026-01-01T00:00:00Z'))
    const both = await call('post', '/status', report(OTHER, '2026-01-01T00:01:00Z'))
    expect(both).to.include({ httpStatus: 200, observedAtUtc: '2026-01-01T00:01:00Z' })
    expect(both.exposures.map(({ isConflict }: { isConflict: boolean }) => isConflict)).to.deep.equal([true, true])
    const older = { ...report(FAR, '2025-12-31T00:00:00Z'), exposures: [] }
    expect((await call('post', '/status', older)).exposures).to.have.length(2)
    expect(await call('get', '/status')).to.deep.include({ sites: both.sites, exposures: both.exposures })
    expect(await call('get', '')).to.include({ siteCount: 2, connectedCount: 2, exposureCount: 2, conflictCount: 2 })
    const strange = await call('post', '/status', report(STRANGE, '2026-01-01T00:02:00Z'))
    expect(strange).to.include({ httpStatus: 422, code: 'CLUSTER_NOT_PROJECTED', field: 'sites.0.clusterId' })
  })

  it('hands each grant to one spoke only, and shortens it', async () => {
    await enable()
    const { certPem: caPem } = await createAuthority('hub', new Date())
    const expiresUtc = new Date(Date.now() + 3_600_000).toISOString()
    const grant = {
      caPem,
      code: 'open-sesame',
      expiresUtc,
      hubEndpoint: 'hub.test:45671',
      url: 'https://hub.test/grant',
    }
    const stored = await call('post', '/access-grant', grant)
    expect(stored).to.include({ httpStatus: 200, code: 'open-sesame' })
    expect(Date.parse(stored.expiresUtc)).to.be.below(Date.parse(expiresUtc))
    expect(await call('get', `/access-grant?clusterId=${FAR}`)).to.include({ httpStatus: 200, code: 'open-sesame' })
    expect(await call('get', `/access-grant?clusterId=${FAR}`)).to.include({ httpStatus: 200, code: 'open-sesame' })
    expect(await call('get', `/access-grant?clusterId=${OTHER}`)).to.include({ httpStatus: 404, code: 'NOT_FOUND' })
    expect(await call('get', '/access-grant')).to.include({ httpStatus: 400 })
    const links = await server.client.get(BoundaryCrosslink.resource, { namespace: HOME, name: 'crosslink' })
    expect(JSON.stringify(links)).to.not.include('open-sesame')
    for (const [field, value] of [
      ['caPem', 'no PEM'],
      ['url', 'http://hub.test'],
      ['expiresUtc', '2026-01-01T00:00:00Z'],
    ])
      expect(await call('post', '/access-grant', { ...grant, [String(field)]: value })).to.include({ httpStatus: 400 })
  })

  it('issues a grant if the hub becomes active within ten seconds', async () => {
    await enable()
    const { certPem } = await createAuthority('hub', new Date())
    const hub = answerRequests({ caPem: certPem, url: 'https://hub.test/grant', hubEndpoint: '', expiresUtc: LATER })
    const asked = call('post', '/access-grant')
    await call('get', '')
    await patchStatus({ hub: { status: 1 } })
    expect(await asked).to.include({ httpStatus: 201 })
    await hub.stop()
  })

  it('returns 503 for a grant if the hub is not active within ten seconds', async () => {
    speed = 100
    await enable()
    expect(await call('post', '/access-grant')).to.include({ httpStatus: 503, code: 'SERVICE_UNAVAILABLE' })
    await patchStatus({ phase: 'EngineMissing' })
    expect(await call('post', '/access-grant')).to.include({ httpStatus: 503, code: 'ENGINE_MISSING' })
  })

  it('issues one grant for each of two concurrent requests', async () => {
    await enable()
    await patchStatus({ hub: { status: 1 } })
    const { certPem } = await createAuthority('hub', new Date())
    const hub = answerRequests({ caPem: certPem, url: 'https://hub.test/grant', hubEndpoint: '', expiresUtc: LATER })
    const grants = await Promise.all([call('post', '/access-grant'), call('post', '/access-grant')])
    await hub.stop()
    expect(grants.map(({ httpStatus }) => httpStatus)).to.deep.equal([201, 201])
    expect(grants[0]?.code).not.to.equal(grants[1]?.code)
  })

  /** Plays the controller of a hub on the local cluster: issues the newest requested grant a moment later. */
  function answerRequests(grant: Omit<Grant, 'code'>) {
    const ref = { namespace: HOME, name: 'crosslink' }
    let isOver = false
    const work = (async () => {
      for (let issued: string[] = []; !isOver; ) {
        for (let turn = 0; turn < 50; turn += 1) await setImmediate()
        const links = await server.client.get(BoundaryCrosslink.resource, ref)
        const { grantRequestedAt: asked } = (links as unknown as BoundaryCrosslink).spec
        if (asked === undefined || issued.includes(asked)) continue
        issued = [...issued, asked]
        const grants = issued.map((code) => ({ ...grant, code }))
        const metadata = { name: 'crosslink-grants', namespace: HOME }
        const data = secretData({ issued: JSON.stringify(grants) })
        server.client.seed(secret, { apiVersion: 'v1', kind: 'Secret', metadata, data } as KubeObject)
        await patchStatus({ grantIssuedFor: asked })
      }
    })()
    return {
      stop() {
        isOver = true
        return work
      },
    }
  }

  it('returns ROTATION_RUNNING while a rotation is unfinished', async () => {
    await enable()
    await patchStatus({ ca: { version: 2, certificatePem: '', fingerprint: '', issuedUtc: '', expiresUtc: '' } })
    expect(await call('post', '/pki/rotate')).to.include({ httpStatus: 409, code: 'ROTATION_RUNNING' })
  })

  it('returns CROSSLINK_DISABLED for grants, reports and rotations while it is disabled', async () => {
    const report = { observedAtUtc: '2026-01-01T00:00:00Z', sites: [], exposures: [] }
    for (const [path, body] of [
      ['/access-grant', undefined],
      ['/pki/rotate', undefined],
      ['/status', report],
    ] as const)
      expect(await call('post', path, body)).to.include({ httpStatus: 409, code: 'CROSSLINK_DISABLED' })
  })

  it('requires crosslink/admin for changes', async () => {
    server.grant(CONTRIBUTOR, 'Contributor', `/boundaries/${BOUNDARY}`)
    expect(await call('get', '', undefined, CONTRIBUTOR)).to.include({ httpStatus: 200 })
    expect(await call('put', '', { enabled: false }, CONTRIBUTOR)).to.include({ httpStatus: 403 })
  })
})
