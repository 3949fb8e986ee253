import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { ManualClock } from '../../test/make/clock.ts'
import { inClusterAccess, parseKubeconfig } from './kubeconfig.ts'

const base64 = (text: string) => Buffer.from(text).toString('base64')

function kubeconfig(cluster: object, user: object, context: object = {}): string {
  return JSON.stringify({
    'current-context': 'main',
    clusters: [{ name: 'c', cluster: { server: 'https://api.example:6443/', ...cluster } }],
    users: [{ name: 'u', user }],
    contexts: [
      { name: 'main', context: { cluster: 'c', user: 'u', ...context } },
      { name: 'other', context: { cluster: 'c', user: 'nobody', namespace: 'elsewhere' } },
    ],
  })
}

describe('kubeconfig', () => {
  let folder = ''
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-kubeconfig-'))
  })
  afterEach(() => rm(folder, { recursive: true }))

  it('reads the server, the namespace, the proxy and the bearer token', async () => {
    const access = parseKubeconfig(
      kubeconfig({ 'proxy-url': 'http://proxy' }, { token: 't' }, { namespace: 'n' }),
      'file',
    )
    expect(access).to.include({ server: 'https://api.example:6443', namespace: 'n', proxyUrl: 'http://proxy' })
    expect(await access.authorization()).to.equal('Bearer t')
  })

  it('uses the given context', async () => {
    const access = parseKubeconfig(kubeconfig({}, { token: 't' }), 'file', 'other')
    expect(access.namespace).to.equal('elsewhere')
    expect(await access.authorization()).to.equal(undefined)
  })

  it('reads certificates from the file itself or beside it, and caches them', async () => {
    await writeFile(join(folder, 'key.pem'), 'KEY')
    const user = { 'client-certificate-data': base64('CERT'), 'client-key': 'key.pem' }
    const text = kubeconfig({ 'certificate-authority-data': base64('CA'), 'tls-server-name': 'api' }, user)
    const access = parseKubeconfig(text, join(folder, 'config'))
    expect(await access.tls()).to.deep.equal({ ca: 'CA', cert: 'CERT', key: 'KEY', servername: 'api' })
    expect(await access.tls()).to.equal(await access.tls())
  })

  it('reads a changed token file again after 10 s, and keeps the token if the file is missing', async () => {
    const clock = new ManualClock()
    const path = join(folder, 'token')
    await writeFile(path, 'first\n')
    const access = parseKubeconfig(kubeconfig({}, { tokenFile: path }), 'file', undefined, clock)
    expect(await access.authorization()).to.equal('Bearer first')
    await writeFile(path, 'second\n')
    await utimes(path, new Date(), new Date(Date.now() + 5_000))
    expect(await access.authorization()).to.equal('Bearer first')
    clock.freeze(10_000)
    expect(await access.authorization()).to.equal('Bearer second')
    await rm(path)
    clock.freeze(10_000)
    expect(await access.authorization()).to.equal('Bearer second')
  })

  it('reads files again after refresh()', async () => {
    const path = join(folder, 'token')
    await writeFile(path, 'first')
    const access = parseKubeconfig(kubeconfig({}, { tokenFile: path }), 'file', undefined, new ManualClock())
    await access.authorization()
    await writeFile(path, 'second')
    access.refresh()
    expect(await access.authorization()).to.equal('Bearer second')
  })

  it('returns new TLS options after a certificate was rotated', async () => {
    const clock = new ManualClock()
    await writeFile(join(folder, 'cert.pem'), 'one')
    const access = parseKubeconfig(
      kubeconfig({}, { 'client-certificate': 'cert.pem' }),
      join(folder, 'f'),
      undefined,
      clock,
    )
    const before = await access.tls()
    await writeFile(join(folder, 'cert.pem'), 'the second')
    clock.freeze(10_000)
    expect(await access.tls())
      .to.deep.equal({ cert: 'the second' })
      .and.not.to.equal(before)
  })

  it('uses the credentials of an exec plugin', async () => {
    const plugin = {
      credentials: async () => ({ authorization: 'Bearer p', cert: 'C', key: 'K' }),
      forget() {},
    }
    const text = kubeconfig({}, { exec: { command: 'login' } })
    const access = parseKubeconfig(text, 'file', undefined, new ManualClock(), () => plugin)
    expect(await access.authorization()).to.equal('Bearer p')
    expect(await access.tls()).to.deep.equal({ cert: 'C', key: 'K' })
  })

  it('runs an exec plugin', async () => {
    const credential = {
      apiVersion: 'client.authentication.k8s.io/v1',
      kind: 'ExecCredential',
      status: { token: 'from-exec' },
    }
    const exec = {
      apiVersion: credential.apiVersion,
      command: 'echo',
      args: [JSON.stringify(credential)],
      interactiveMode: 'Never',
    }
    const access = parseKubeconfig(kubeconfig({}, { exec }), 'file')
    expect(await access.authorization()).to.equal('Bearer from-exec')
  })

  it('runs the exec plugin again after refresh()', async () => {
    const path = join(folder, 'issued')
    const credential = (token: string) =>
      JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status: { token } })
    await writeFile(path, credential('first'))
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: 'cat',
      args: [path],
      interactiveMode: 'Never',
    }
    const access = parseKubeconfig(kubeconfig({}, { exec }), 'file')
    expect(await access.authorization()).to.equal('Bearer first')
    await writeFile(path, credential('second'))
    expect(await access.authorization()).to.equal('Bearer first')
    access.refresh()
    expect(await access.authorization()).to.equal('Bearer second')
  })

  it('inClusterAccess reads the service account of a pod', async () => {
    await writeFile(join(folder, 'token'), 'pod-token')
    await writeFile(join(folder, 'ca.crt'), 'CA')
    await writeFile(join(folder, 'namespace'), 'freehold-system\n')
    const access = inClusterAccess(folder)
    expect(access.namespace).to.equal('freehold-system')
    expect(await access.authorization()).to.equal('Bearer pod-token')
    expect(await access.tls()).to.deep.equal({ ca: 'CA' })
  })

  const broken: [string, string, string][] = [
    [
      'an unknown context',
      kubeconfig({}, {}).replace('"current-context":"main"', '"current-context":"gone"'),
      'has no context "gone"',
    ],
    ['an empty file', '', 'has no context ""'],
    ['text that is not YAML', 'users: [{token: secret', 'is not YAML.'],
    [
      'a cluster without a server',
      kubeconfig({}, {}).replace('"server"', '"servant"'),
      'has no server for cluster "c"',
    ],
    [
      'a user with impersonation',
      kubeconfig({}, { token: 't', as: 'dev' }),
      'has "as", to act as somebody else, which is not supported',
    ],
  ]
  for (const [what, text, message] of broken) {
    it(`names the file and the fault of ${what}`, () => {
      expect(() => parseKubeconfig(text, 'the-file')).to.throw(`the-file ${message}`)
    })
  }
})
