import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { expect } from 'chai'
import { dump } from 'js-yaml'
import { loadKubeconfig } from '../../src/kubeconfig/kubeconfig.ts'
import { openExisting } from './existing.ts'
import { Authority } from './pki.ts'

describe('openExisting', () => {
  let folder: string
  let server: Server
  let address: string
  let authority: Authority
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-existing-'))
    authority = await Authority.open(join(folder, 'theirs'), 'ca')
    const { certPem, keyPem } = await authority.issue({ commonName: 'api', names: ['api.example'], purpose: 'server' })
    server = createServer({ cert: certPem, key: keyPem }, (_request, response) =>
      response.end(JSON.stringify({ gitVersion: 'v1.36.3' })),
    )
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    address = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterEach(async () => {
    server.close()
    await rm(folder, { recursive: true })
  })

  async function given(cluster: Record<string, unknown>): Promise<string> {
    const path = join(folder, 'given')
    const config = {
      'current-context': 'main',
      clusters: [{ name: 'c', cluster: { server: address, ...cluster } }],
      users: [{ name: 'u', user: { token: 't' } }],
      contexts: [{ name: 'main', context: { cluster: 'c', user: 'u' } }],
    }
    await writeFile(path, dump(config))
    return path
  }
  const open = (path: string) => openExisting(join(folder, 'data'), path)

  /** The access of the operator, according to the kubeconfig written for it. */
  async function carriedOn(cluster: Record<string, unknown>) {
    const controlPlane = await open(await given(cluster))
    const target = join(folder, 'written')
    await controlPlane.writeKubeconfig(target, { name: 'ours', user: { token: 'ours' } })
    return loadKubeconfig(target)
  }

  it('does not take the kubectl of its own folder, which is to become a link to the one that it takes', async () => {
    const { PATH } = process.env
    try {
      for (const name of ['data', 'bin']) {
        await mkdir(join(folder, name))
        await writeFile(join(folder, name, 'kubectl'), '', { mode: 0o755 })
      }
      process.env.PATH = [join(folder, 'data'), join(folder, 'bin')].join(delimiter)
      const { kubectlPath } = await open(await given({ 'insecure-skip-tls-verify': true }))
      expect(kubectlPath).to.equal(join(folder, 'bin/kubectl'))
    } finally {
      process.env.PATH = PATH
    }
  })

  it('keeps insecure-skip-tls-verify', async () => {
    const access = await carriedOn({ 'insecure-skip-tls-verify': true })
    expect(await access.tls()).to.deep.equal({ rejectUnauthorized: false })
  })

  it('keeps the certificate authority and tls-server-name', async () => {
    const ca = Buffer.from(authority.certPem).toString('base64')
    const access = await carriedOn({ 'certificate-authority-data': ca, 'tls-server-name': 'api.example' })
    expect(await access.tls()).to.deep.equal({ ca: authority.certPem, servername: 'api.example' })
  })

  it('rejects an unsupported proxy and an untrusted certificate before it writes anything', async () => {
    const refusals: [string, Record<string, unknown>, RegExp][] = [
      ['a proxy that is not spoken to', { 'proxy-url': 'socks5://127.0.0.1:1' }, /proxy-url .* socks5:.*HTTP proxy\.$/],
      ['a certificate that is not trusted', {}, /cannot be used: .*certificate/],
    ]
    for (const [what, cluster, message] of refusals) {
      const outcome = await open(await given(cluster)).then(
        () => 'opened',
        (error: Error) => error.message,
      )
      expect(outcome, what).to.match(message)
    }
    expect(await readdir(folder)).not.to.include('data')
  })
})
