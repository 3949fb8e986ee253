import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { dump } from 'js-yaml'
import { accessOfKubeconfig, accessOfSession, type KubernetesAccess, openKubernetes } from './kubernetes.ts'
import { applyToKubernetes } from './kubernetesObjects.ts'
import { parseManifests } from './manifests.ts'

const [MANIFEST] = parseManifests('{apiVersion: v1, kind: Namespace, metadata: {name: one}}', 'one.yaml')
const RESOURCES = { resources: [{ name: 'namespaces', kind: 'Namespace', namespaced: false }] }

describe('applyToKubernetes', () => {
  let folder: string
  let asked: (string | undefined)[]
  const server = createServer((request, response) => {
    asked.push(request.headers.authorization)
    const [status, body] = request.url === '/api/v1' ? [200, RESOURCES] : [request.method === 'GET' ? 404 : 201, {}]
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  let origin: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-kubeconfig-'))
    await writeFile(join(folder, 'token'), 'from-file\n')
    await once(server.listen(0, '127.0.0.1'), 'listening')
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  beforeEach(() => {
    asked = []
  })
  after(async () => {
    server.close()
    await rm(folder, { recursive: true, force: true })
  })

  const written = async (user: object) => {
    const path = join(folder, 'config')
    const content = {
      'current-context': 'one',
      contexts: [{ name: 'one', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster: { server: origin } }],
      users: [{ name: 'u', user }],
    }
    await writeFile(path, dump(content))
    return path
  }
  const { signal } = new AbortController()
  const apply = async (access: KubernetesAccess) =>
    applyToKubernetes(MANIFEST as NonNullable<typeof MANIFEST>, await openKubernetes(access, signal), signal)

  const users: [who: string, user: object, shown: string][] = [
    ['the token of a kubeconfig', { token: 'a' }, 'Bearer a'],
    ['the token file beside a kubeconfig', { tokenFile: 'token' }, 'Bearer from-file'],
  ]
  for (const [who, user, shown] of users) {
    it(`sends ${who}`, async () => {
      expect(await apply(accessOfKubeconfig(await written(user)))).to.equal('created')
      expect(asked).to.deep.equal([shown, shown, shown])
    })
  }

  it('sends the token of the signed-in person', async () => {
    const session = { settings: { kubernetes: { server: origin } }, token: async () => 'mine' }
    const access = accessOfSession(session as unknown as Parameters<typeof accessOfSession>[0])
    expect(await apply(access as NonNullable<typeof access>)).to.equal('created')
    expect(asked).to.deep.equal(['Bearer mine', 'Bearer mine', 'Bearer mine'])
  })

  const refused: [what: string, content: string | undefined, expected: RegExp][] = [
    ['a missing file', undefined, /cannot be used as a kubeconfig/],
    ['a file without a current context', '{clusters: []}', /has no context/],
    ['a file that is not YAML', 'a: [', /is not YAML/],
  ]
  for (const [what, content, expected] of refused) {
    it(`rejects ${what} as a kubeconfig`, async () => {
      const path = join(folder, content === undefined ? 'nowhere' : 'wrong')
      if (content !== undefined) await writeFile(path, content)
      expect(() => accessOfKubeconfig(path)).to.throw(expected)
    })
  }

  it('fails with a clear error if the token file cannot be read', async () => {
    const path = await written({ tokenFile: 'gone' })
    const said = await apply(accessOfKubeconfig(path)).then(String, (error: Error) => error.message)
    expect(said).to.match(/credentials of the kubeconfig cannot be read/)
  })
})
