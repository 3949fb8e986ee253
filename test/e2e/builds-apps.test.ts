import { createHmac, randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { pack } from 'tar-stream'
import { BUILD_NAMESPACE, buildName } from '../../src/contracts/builds/progress.ts'
import { groupNamespace } from '../../src/core/names.ts'
import { PlatformApp } from '../../src/crds/apps.ts'
import { job } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import { call, expectCall, makeBoundary, makeGroup, ownerToken, uniqueName, until } from '../worlds/platform.ts'
import { PlayedGit } from '../worlds/providers/git.ts'
import { serveToPlatform } from '../worlds/providers/standIn.ts'
import { administrator, testPlatform } from '../worlds/tenant.ts'

type Entry = {
  id: string
  phase: string
  containerImage: string | null
  lastMessage: string
  isServing: boolean
  source: string
  provider: string
  commitSha: string | null
}
type Begun = { deploymentSourceId: string; webhookUrl: string; webhookSecret: string }
type Page<T> = { items: T[] }

const CANARY = 'a-canary-for-builds'
const CODE = { sourceKind: 'Repository', repositoryUrl: 'https://git.example.test/acme/shop.git' }

/** Pods are simulated here: builds end at once, and report like real ones. */
describe('builds of apps', () => {
  let client: KubeClient
  let base: string
  let boundaryId: string
  let group: string
  let namespace: string
  let close: (() => Promise<void>) | undefined

  before(async () => {
    client = await administrator()
    close = await serveToPlatform({ git: new PlayedGit(CANARY) }, testPlatform().git)
    boundaryId = (await makeBoundary()).id
    group = (await makeGroup(boundaryId)).name
    namespace = groupNamespace(boundaryId, group)
    base = `/boundaries/${boundaryId}/resourcegroups/${group}/resources/apps`
  })
  after(async () => {
    await close?.()
    await client?.close()
  })

  const deployments = async (name: string) =>
    (await expectCall<Page<Entry>>(200, 'GET', `${base}/${name}/deployments`)).body.items
  const succeeded = (name: string, count: number) =>
    until(`${count} deployments of ${name} are over`, async () => {
      const found = await deployments(name)
      const over = found.filter(({ phase }) => phase === 'Succeeded')
      if (over.length !== count || found.length !== count) throw new Error(JSON.stringify(found))
      return found
    })

  it('builds and serves a repository once per change of its source, and keeps only the log', async () => {
    const name = uniqueName('shop')
    await expectCall(201, 'POST', `${base}/${name}`, CODE)
    const [first] = await succeeded(name, 1)
    const repository = `${boundaryId}/${group}/apps/${name}`
    expect(first?.containerImage).to.match(new RegExp(`/${repository}@sha256:[0-9a-f]{64}$`))
    await until('it is served', async () => (await deployments(name))[0]?.isServing === true)
    const log = await expectCall<{ lines: { text: string }[]; isFinal: boolean }>(
      200,
      'GET',
      `${base}/${name}/deployments/${first?.id}/build-logs`,
      undefined,
      { headers: { accept: 'application/json' } },
    )
    expect(log.body.isFinal).to.equal(true)
    expect(log.body.lines.map(({ text }) => text).join()).to.include('simulated')
    await until('its Job is deleted', () =>
      client.get(job, { namespace: BUILD_NAMESPACE, name: buildName({ namespace, name: first?.id ?? '' }) }).then(
        () => false,
        (error: unknown) => isKubeError(error, 'NotFound'),
      ),
    )
    await expectCall(200, 'PATCH', `${base}/${name}`, { branch: 'next' })
    await succeeded(name, 2)
    await expectCall(200, 'PATCH', `${base}/${name}`, { tags: { colour: 'blue' } })
    await succeeded(name, 2)
  })

  it('checks, stores and builds an uploaded archive, and returns the same deployment for the same bytes', async function () {
    const name = uniqueName('shop')
    await expectCall(201, 'POST', `${base}/${name}`, { sourceKind: 'Upload' })
    const send = async (bytes: Buffer, to = name) => {
      const headers = { 'content-type': 'application/gzip', authorization: `Bearer ${await ownerToken()}` }
      const answer = await fetch(`${testPlatform().facadeUrl}${base}/${to}/source`, {
        method: 'PUT',
        body: new Uint8Array(bytes),
        headers,
      })
      return { status: answer.status, body: (await answer.json()) as Entry & { detail?: string; code?: string } }
    }
    const source = await archiveOf({ 'package.json': '{}', 'index.js': 'process.stdout.write("hello")' })
    const first = await send(source)
    if (first.body.code === 'ENGINE_MISSING') this.skip()
    expect(first.status, JSON.stringify(first.body)).to.equal(202)
    const [made] = await succeeded(name, 1)
    expect(made).to.include({ id: first.body.id, source: 'upload', provider: 'Upload' })
    const again = await send(source)
    expect([again.status, again.body.id]).to.deep.equal([200, first.body.id])
    const refused = await send(await archiveOf({ '../outside': 'x' }))
    expect(refused.status, JSON.stringify(refused.body)).to.equal(400)
    expect(JSON.stringify(refused.body)).to.include('leads out of the archive')
    const image = uniqueName('shop')
    await expectCall(201, 'POST', `${base}/${image}`, { sourceKind: 'Image', image: 'docker.io/library/nginx:1.29' })
    expect((await send(source, image)).status).to.equal(409)
  })

  /** A source of plain Git, code in it, and pushes that it reports. */
  async function sourceOfPushes() {
    const repositoryUrl = `https://${testPlatform().git.host}/git/${uniqueName('shop')}.git`
    const body = { displayName: 'Shop', baseUrl: repositoryUrl, accessToken: CANARY }
    const begun = await expectCall<Begun>(201, 'POST', `/boundaries/${boundaryId}/sources/git/create`, body)
    const { deploymentSourceId, webhookUrl, webhookSecret } = begun.body
    const push = async (ref: string, after: string) => {
      const text = JSON.stringify({ ref, after, repository: { id: 1, full_name: 'acme/shop' } })
      const headers = {
        'content-type': 'application/json',
        'x-hub-signature-256': `sha256=${createHmac('sha256', webhookSecret).update(text).digest('hex')}`,
        'x-freehold-event': 'push',
        'x-freehold-delivery': randomUUID(),
      }
      const answer = await fetch(webhookUrl, { method: 'POST', headers, body: text })
      expect(answer.status).to.equal(202)
    }
    return { push, code: { ...CODE, repositoryUrl, deploymentSourceId } }
  }

  it('deploys a push to its branch with the credentials of its source, and no other push', async () => {
    const { push, code } = await sourceOfPushes()
    const [name, deaf] = [uniqueName('shop'), uniqueName('deaf')]
    await expectCall(201, 'POST', `${base}/${name}`, code)
    await expectCall(201, 'POST', `${base}/${deaf}`, { ...code, deployOnPush: false })
    const [first] = await succeeded(name, 1)
    expect(first).to.include({ source: 'Shop', provider: 'Git' })
    await push('refs/heads/other', 'a'.repeat(40))
    await push('refs/tags/main', 'b'.repeat(40))
    await push('refs/heads/main', 'c'.repeat(40))
    const entries = await succeeded(name, 2)
    const pushed = entries.find(({ commitSha }) => commitSha === 'c'.repeat(40))
    expect(pushed).to.include({ source: 'Shop', branch: 'main', provider: 'Git' })
    await push('refs/heads/main', 'd'.repeat(40))
    await succeeded(name, 3)
    await succeeded(deaf, 1)
  })

  it('deploys a preview for each matching branch, and deletes it with the branch and with the app', async () => {
    type Preview = { name: string; publicUrl: string | null; tags: Record<string, string> }
    const { push, code } = await sourceOfPushes()
    const [name, branch] = [uniqueName('shop'), 'feature/login']
    await expectCall(201, 'POST', `${base}/${name}`, { ...code, previewBranches: ['feature/*'] })
    await succeeded(name, 1)
    const own = (await expectCall<Preview>(200, 'GET', `${base}/${name}`)).body
    const previews = async () =>
      (await expectCall<Page<Preview>>(200, 'GET', `${base}?pageSize=200`)).body.items.filter(
        ({ tags }) => tags.preview === name,
      )
    const only = (count: number) =>
      until(`there are ${count} previews`, async () => {
        const found = await previews()
        return found.length === count && found
      })
    await push('refs/heads/other', 'a'.repeat(40))
    await push(`refs/heads/${branch}`, 'b'.repeat(40))
    const [preview = own] = await only(1)
    expect(preview.publicUrl).not.to.equal(own.publicUrl)
    await succeeded(preview.name, 1)
    await push(`refs/heads/${branch}`, 'c'.repeat(40))
    const pushed = await succeeded(preview.name, 2)
    // Those of one second are listed in any order.
    expect(pushed.find(({ commitSha }) => commitSha === 'c'.repeat(40))).to.include({ source: 'Shop' })
    await push(`refs/heads/${branch}`, '0'.repeat(40))
    await only(0)
    await push(`refs/heads/${branch}`, 'd'.repeat(40))
    await only(1)
    await succeeded(name, 1)
    await expectCall(202, 'DELETE', `${base}/${name}`)
    await only(0)
  })

  it('builds an app that kubectl created', async () => {
    const name = uniqueName('shop')
    const { apiVersion, kind } = PlatformApp
    await client.create(PlatformApp.resource, { apiVersion, kind, metadata: { name, namespace }, spec: CODE })
    await succeeded(name, 1)
    await client.remove(PlatformApp.resource, { namespace, name })
    await until('it is deleted', async () => (await call('GET', `${base}/${name}`)).status === 404)
  })
})

async function archiveOf(files: Readonly<Record<string, string>>): Promise<Buffer> {
  const tar = pack()
  for (const [name, content] of Object.entries(files)) tar.entry({ name }, content)
  tar.finalize()
  return gzipSync(await buffer(tar as unknown as Readable))
}
