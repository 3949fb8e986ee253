import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { expect } from 'chai'
import type { DeploymentSourceDto } from '../../src/api/sources/record.ts'
import { boundaryNamespace } from '../../src/core/names.ts'
import { secretData } from '../../src/core/secretData.ts'
import { DeploymentSource } from '../../src/crds/sources.ts'
import { secret } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { makeKey, SshServer } from '../cluster/sshServer.ts'
import { call, type ErrorBody, expectCall, itemsOf, makeBoundary, until } from '../worlds/platform.ts'
import { administrator, testPlatform } from '../worlds/tenant.ts'

type Begun = { deploymentSourceId: string; status: string }
type Stored = KubeObject & { status?: { hostKey?: string; phase?: string; statusMessage?: string } }
type Report = { status: string; checks: { name: string; status: string; message: string | null }[] }

/** Debian's OpenSSH server in front of git-shell, which the platform calls because the configuration lists it. */
describe('deployment sources of plain Git over ssh', () => {
  let server: SshServer
  let admin: KubeClient
  let path: string
  let namespace: string
  let key: string

  before(async function () {
    admin = await administrator()
    server = await SshServer.startOrSkip(this, testPlatform().git.ssh.port)
    const file = makeKey(server.folder, 'deploy-key')
    await server.authorize(file)
    key = await readFile(file, 'utf8')
    const { id } = await makeBoundary()
    path = `/boundaries/${id}/sources`
    namespace = boundaryNamespace(id)
  })
  after(async () => {
    await server?.stop()
    await admin?.close()
  })

  const create = (body: object) =>
    call<Begun & ErrorBody>('POST', `${path}/git/create`, { displayName: 'Shop', baseUrl: server.url(), ...body })
  const stored = async (name: string) =>
    (await admin.get<Stored>(DeploymentSource.resource, { namespace, name })).status ?? {}
  const phaseOf = (name: string, phase: string) =>
    until(`the source is ${phase}`, async () => {
      const status = await stored(name)
      if (status.phase !== phase) throw new Error(JSON.stringify(status))
      return status
    })
  /** By kubectl: the source, beside a Secret that is the writer's own. */
  const apply = async (entries: Record<string, string>) => {
    const name = randomUUID()
    const metadata = { name: `key-${name}`, namespace }
    await admin.create(secret, { apiVersion: 'v1', kind: 'Secret', metadata, data: secretData(entries) } as KubeObject)
    const { apiVersion, kind } = DeploymentSource
    const credentials = { secretName: metadata.name }
    const spec = { displayName: 'Shop', provider: 'Git', baseUrl: server.url(), credentials }
    await admin.create(DeploymentSource.resource, {
      apiVersion,
      kind,
      metadata: { name, namespace },
      spec,
    } as KubeObject)
    return name
  }

  it('is created by REST with a private key, which no answer contains', async () => {
    const { body: made, status, text } = await create({ privateKey: key })
    expect([status, made.status], text).to.deep.equal([201, 'Ready'])
    const id = made.deploymentSourceId
    const shown = await phaseOf(id, 'Available')
    expect(shown.hostKey).to.match(/^\S+ AAAA/)
    const source = await until('REST shows it', async () => {
      const [found] = await itemsOf<DeploymentSourceDto>(path)
      return found?.status === 'Ready' && found
    })
    expect(source.repositoryCount).to.equal(1)
    const repositories = await expectCall<{ id: string; defaultBranch: string }[]>(
      200,
      'GET',
      `${path}/git/${id}/repositories`,
    )
    expect(repositories.body[0]).to.include({ id: 'repository', name: 'shop', defaultBranch: 'trunk' })
    const health = await expectCall<Report>(200, 'GET', `${path}/git/${id}/health`)
    expect(health.body.status).to.equal('Healthy')
    const token = await call<ErrorBody>('POST', `${path}/git/installations/${id}/token/repository`)
    expect([token.status, token.body.code]).to.deep.equal([501, 'tokens-not-supported'])
    const group = { resourceGroup: 'none' }
    expect((await call<ErrorBody>('POST', `${path}/git/${id}/materialize`, group)).status).to.equal(404)
    const [, line = ''] = key.split('\n')
    expect(repositories.text + health.text + text).to.not.contain(line)
  })

  it('is created by kubectl with a Secret, which is read at each use', async () => {
    const name = await apply({ 'private-key': key, 'known-hosts': await server.knownHosts() })
    await phaseOf(name, 'Available')
    const stranger = await readFile(makeKey(server.folder, 'stranger'), 'utf8')
    const data = secretData({ 'private-key': stranger })
    await admin.mergePatch(secret, { namespace, name: `key-${name}` }, { data })
    const { body } = await expectCall<Report>(200, 'GET', `${path}/git/${name}/health`)
    expect(body.checks.map(({ status }) => status)).to.deep.equal(['Healthy', 'Unhealthy', 'Unknown', 'Degraded'])
    expect(body.checks[1]?.message).to.contain('does not accept this key')
  })

  it('refuses keys that are unknown to the host, protected by a passphrase or malformed', async () => {
    const text = (name: string, passphrase = '') => readFile(makeKey(server.folder, name, [], passphrase), 'utf8')
    const cases: [string, RegExp][] = [
      [await text('nobody'), /does not accept this key/],
      [await text('locked', 'secret'), /passphrase/],
      ['a key', /cannot be read/],
    ]
    for (const [privateKey, sentence] of cases) {
      const { status, body } = await create({ privateKey })
      expect([status, body.code]).to.deep.equal([400, 'credential-rejected'])
      expect(JSON.stringify(body)).to.match(sentence)
      const name = await apply({ 'private-key': privateKey })
      expect((await phaseOf(name, 'ConfigurationInvalid')).statusMessage).to.match(sentence)
    }
  })

  it('refuses internal addresses that are not listed, without calling them', async () => {
    let calls = 0
    const inside = createServer((socket) => {
      calls += 1
      socket.destroy()
    })
    await once(inside.listen(0, '127.0.0.1'), 'listening')
    const { port } = inside.address() as AddressInfo
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, '127.0.0.1', '10.0.0.1']) {
      const baseUrl = `ssh://git@${host}/x.git`
      const { status, body } = await create({ baseUrl, privateKey: key })
      expect([status, body.code], baseUrl).to.deep.equal([400, 'url-not-allowed'])
    }
    inside.close()
    expect(calls).to.equal(0)
  })

  it('trusts the first host key, and refuses another one', async () => {
    const { body } = await create({ privateKey: key })
    const id = body.deploymentSourceId
    const { hostKey } = await phaseOf(id, 'Available')
    await server.halt()
    await server.renewHostKeys()
    await server.run()
    const health = await expectCall<Report>(200, 'GET', `${path}/git/${id}/health`)
    expect(health.body.checks[0]).to.include({ name: 'Reachable', status: 'Unhealthy' })
    expect(health.body.checks[0]?.message).to.contain('another host key')
    const list = await call<ErrorBody>('GET', `${path}/git/${id}/repositories`)
    expect([list.status, list.body.code]).to.deep.equal([502, 'upstream-failed'])
    // Changing the display name makes the controller check again.
    const ref = { namespace, name: id }
    await admin.mergePatch(DeploymentSource.resource, ref, { spec: { displayName: 'Store' } })
    const stalled = await phaseOf(id, 'ConfigurationInvalid')
    expect([stalled.hostKey, stalled.statusMessage?.includes('another host key')]).to.deep.equal([hostKey, true])
    const data = secretData({ 'known-hosts': await server.knownHosts() })
    await admin.mergePatch(secret, { namespace, name: `dsrc-${id}` }, { data })
    await admin.mergePatch(DeploymentSource.resource, ref, { spec: { displayName: 'Shop' } })
    expect((await phaseOf(id, 'Available')).hostKey).to.not.equal(hostKey)
  })
})
