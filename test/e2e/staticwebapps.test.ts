import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { type DeploymentPhase, isFinalPhase } from '../../src/contracts/deployments.ts'
import { hostSuffixOf } from '../../src/contracts/workloads.ts'
import { groupNamespace } from '../../src/core/names.ts'
import { DeploymentRecord } from '../../src/crds/deployments.ts'
import { StaticWebApp } from '../../src/crds/staticwebapps.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { call, expectCall, uniqueName, until } from '../worlds/platform.ts'
import { administrator } from '../worlds/tenant.ts'
import { makeVault } from '../worlds/vaultWorld.ts'

type Site = {
  status: string
  statusMessage: string
  servingImage: string | null
  publicUrl: string | null
  ingressHost: string | null
  resourcePlanId: string
  commit: string | null
  deployments: { number: number; image: string | null; result: string | null }[]
}
type Entry = { id: string; phase: DeploymentPhase; branch: string; commitSha: string | null; isServing: boolean }
type CachedRecord = DeploymentRecord & { [key: string]: unknown }
type Page<T> = { items: T[] }

const IMAGE = 'docker.io/nginxinc/nginx-unprivileged:1.29'
const NEXT = 'docker.io/nginxinc/nginx-unprivileged:1.30'
const REPOSITORY = 'https://git.example.com/team/site.git'

describe('static web apps', () => {
  let client: KubeClient
  let namespace: string
  let boundary: string
  let group: string
  let base: string

  before(async () => {
    client = await administrator()
    const at = await makeVault()
    namespace = groupNamespace(at.boundaryId, at.group)
    boundary = `/boundaries/${at.boundaryId}`
    group = at.group
    base = `${boundary}/resourcegroups/${group}/resources/staticwebapps`
  })
  after(() => client.close())

  const read = async (name: string) => (await expectCall<Site>(200, 'GET', `${base}/${name}`)).body
  const serves = (name: string, image: string) =>
    until(`${name} serves ${image}`, async () => {
      const found = await read(name)
      if (found.status !== 'Running' || found.servingImage !== image)
        throw new Error(`${found.status} ${found.servingImage}: ${found.statusMessage}`)
      return found
    })
  const deployments = async (name: string) =>
    (await expectCall<Page<Entry>>(200, 'GET', `${base}/${name}/deployments`)).body.items

  it('deploys an image, deploys another, and rolls back to a deployment by its number', async () => {
    const name = uniqueName('docs')
    const preview = { name, resourceGroup: group }
    const { body: before } = await expectCall<{ host: string; isAvailable: boolean }>(
      200,
      'POST',
      `${boundary}/resources/staticwebapps/url`,
      preview,
    )
    expect(before.isAvailable).to.equal(true)
    await expectCall(201, 'POST', `${base}/${name}`, { image: IMAGE, replicas: 2 })
    const first = await serves(name, IMAGE)
    expect([first.ingressHost, first.resourcePlanId]).to.deep.equal([before.host, 'container-nano'])
    await expectCall(200, 'PATCH', `${base}/${name}`, { image: NEXT, headers: { 'X-Frame-Options': 'DENY' } })
    await serves(name, NEXT)
    await until('both have their result', async () => {
      const { deployments: shown } = await read(name)
      return expect(shown.map(({ number, result }) => `${number} ${result}`)).to.deep.equal([
        '2 Succeeded',
        '1 Succeeded',
      ])
    })
    const rollback = (body: object) => call('POST', `${base}/${name}/rollback`, body)
    expect((await rollback({})).status).to.equal(400)
    expect((await rollback({ number: 1, image: IMAGE })).status).to.equal(400)
    expect((await rollback({ number: 9 })).status).to.equal(404)
    expect((await rollback({ number: 1 })).status).to.equal(200)
    await serves(name, IMAGE)
    await expectCall(200, 'GET', `${base}/${name}/pods`)
    await expectCall(200, 'GET', `${base}/${name}/logs`)
    for (const path of ['/config', '', `/${name}/scale`, `/${name}/deployments/config`])
      await expectCall(200, 'GET', `${base}${path}`)
    await expectCall(200, 'PUT', `${base}/${name}`, { image: IMAGE, replicas: 2 })
    await expectCall(202, 'PUT', `${base}/${name}/actions/restart`)
    const refused = await call('POST', `${base}/${name}/deploy`)
    expect([refused.status, refused.body.code]).to.deep.equal([409, 'NOTHING_TO_BUILD'])
    await expectCall(202, 'POST', `${base}/${name}/scale`, { targetScale: 1 })
    await expectCall(202, 'DELETE', `${base}/${name}`)
    await until('it is deleted', async () => expect((await call('GET', `${base}/${name}`)).status).to.equal(404))
  })

  it('deploys a commit once for two concurrent requests', async () => {
    const name = uniqueName('docs')
    await expectCall(201, 'POST', `${base}/${name}`, { repositoryUrl: REPOSITORY })
    await until('the first deployment is over', async () =>
      expect((await deployments(name)).map(({ branch, phase }) => [branch, isFinalPhase(phase)])).to.deep.equal([
        ['main', true],
      ]),
    )
    // A build of an external builder, so that the next one is queued, however long the requests take.
    await expectCall(201, 'POST', `${base}/${name}/deployments`, { phase: 'Building' })
    await until('it is being built', async () =>
      expect((await deployments(name)).map(({ phase }) => phase)).to.include('Building'),
    )
    const ask = { branch: 'next', commit: 'a'.repeat(40) }
    const [one, other] = await Promise.all([
      call('POST', `${base}/${name}/deploy`, ask),
      call('POST', `${base}/${name}/deploy`, ask),
    ])
    expect([one.status, other.status].sort()).to.deep.equal([200, 202])
    expect((one.body as unknown as Entry).id).to.equal((other.body as unknown as Entry).id)
    expect((one.body as unknown as Entry).phase).to.equal('Queued')
  })

  it('serves images that an external builder reports, and rolls back to one without a build', async () => {
    const name = uniqueName('docs')
    await expectCall(201, 'POST', `${base}/${name}`, { repositoryUrl: REPOSITORY, deployOnPush: false })
    const report = async (image: string, commitSha: string) => {
      const id = randomUUID()
      await expectCall(201, 'POST', `${base}/${name}/deployments`, { deploymentId: id, commitSha })
      await expectCall(200, 'POST', `${base}/${name}/deployments/${id}/logs`, { lines: ['built'], isFinal: true })
      const done = { phase: 'Succeeded', containerImage: image }
      await expectCall(200, 'PUT', `${base}/${name}/deployments/${id}`, done)
      await serves(name, image)
      return id
    }
    const first = await report(IMAGE, 'a'.repeat(40))
    const { body: begun } = await expectCall<Entry>(201, 'POST', `${base}/${name}/deployments`, { phase: 'Building' })
    const path = `${base}/${name}/deployments/${begun.id}`
    expect((await expectCall<Entry>(200, 'DELETE', path)).body.phase).to.equal('Cancelled')
    expect((await call('PUT', path, { phase: 'Succeeded', containerImage: NEXT })).status).to.equal(409)
    await report(NEXT, 'b'.repeat(40))
    expect((await read(name)).commit).to.equal('b'.repeat(40))
    await expectCall(200, 'POST', `${base}/${name}/rollback`, { deploymentId: first })
    await serves(name, IMAGE)
    expect((await read(name)).commit).to.equal('a'.repeat(40))
    const { text: log } = await expectCall(200, 'GET', `${base}/${name}/deployments/${first}/build-logs`)
    expect(log).to.equal('built\n')
  })

  it('deploys from a manifest without REST', async () => {
    const name = uniqueName('docs')
    const { apiVersion, kind, resource } = StaticWebApp
    await client.create(resource, { apiVersion, kind, metadata: { name, namespace }, spec: { image: IMAGE } })
    await serves(name, IMAGE)
    const { items } = await client.list<CachedRecord>(DeploymentRecord.resource, { namespace })
    const own = items.filter(({ spec }) => spec.ownerName === name && spec.ownerCollection === 'staticwebapps')
    expect(own.map(({ spec }) => spec.image)).to.deep.equal([IMAGE])
  })

  it('accepts only hosts of its boundary', async () => {
    const [name, foreign] = [uniqueName('docs'), uniqueName('docs')]
    const made = await expectCall<Site>(201, 'POST', `${base}/${name}`, { image: IMAGE })
    const domain = made.body.ingressHost?.split('.').slice(1).join('.') ?? ''
    const own = `${name}${hostSuffixOf(boundary.split('/').at(-1) ?? '', domain)}`
    await expectCall(200, 'PATCH', `${base}/${name}`, { ingressHost: own })
    await until('it is served there', async () => (await read(name)).publicUrl === `https://${own}`)
    const { apiVersion, kind, resource } = StaticWebApp
    const spec = { image: IMAGE, ingressHost: `${foreign}.${domain}` }
    await client.create(resource, { apiVersion, kind, metadata: { name: foreign, namespace }, spec })
    await until('the host of others is refused', async () =>
      (await read(foreign)).statusMessage?.includes('must end with'),
    )
  })

  for (const [what, body, code] of [
    ['a body without repository and image', {}, 'BAD_REQUEST'],
    ['repository and image together', { image: IMAGE, repositoryUrl: REPOSITORY }, 'BAD_REQUEST'],
    [
      'a proxyUrl to an internal host',
      { image: IMAGE, proxyUrl: 'https://kubernetes.default.svc/x' },
      'URL_NOT_ALLOWED',
    ],
    ['a header that the server sets itself', { image: IMAGE, headers: { 'Content-Length': '1' } }, 'BAD_REQUEST'],
    ['an unknown source', { repositoryUrl: REPOSITORY, deploymentSourceId: randomUUID() }, 'REFERENCE_NOT_FOUND'],
    ['a plan of another family', { image: IMAGE, resourcePlanId: 'vector-small' }, undefined],
  ] as const) {
    it(`rejects ${what}`, async () => {
      const answer = await call('POST', `${base}/${uniqueName('docs')}`, body)
      expect(answer.status, JSON.stringify(answer.body)).to.be.oneOf([400, 422])
      if (code !== undefined) expect(answer.body.code).to.equal(code)
    })
  }
})
