import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { dump } from 'js-yaml'
import { accessOfKubeconfig } from './kubeconfigAccess.ts'

describe('access by a kubeconfig', () => {
  let folder: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-kubeconfig-'))
    await writeFile(join(folder, 'authority.crt'), 'pem')
    await writeFile(join(folder, 'token'), 'from-file\n')
  })
  after(() => rm(folder, { recursive: true, force: true }))

  const accessOf = async (content: object | string) => {
    const path = join(folder, 'config')
    await writeFile(path, typeof content === 'string' ? content : dump(content))
    const { token, ...access } = await accessOfKubeconfig(path)
    return { ...access, token: await token?.() }
  }
  const file = (user: object, { context = 'one' } = {}) => ({
    'current-context': context,
    contexts: [
      { name: 'other', context: { cluster: 'o', user: 'o' } },
      { name: 'one', context: { cluster: 'c', user: 'u' } },
    ],
    clusters: [{ name: 'c', cluster: { server: 'https://k.test:6443', 'certificate-authority': 'authority.crt' } }],
    users: [{ name: 'u', user }],
  })
  const kubernetes = {
    server: 'https://k.test:6443',
    certificateAuthorityData: Buffer.from('pem').toString('base64'),
  }

  it('shows the certificate of the user of the current context', async () => {
    const user = { 'client-certificate-data': 'Yw==', 'client-key-data': 'aw==' }
    const clientCertificate = { certificate: 'Yw==', key: 'aw==' }
    expect(await accessOf(file(user))).to.deep.equal({ kubernetes, clientCertificate, token: undefined })
  })

  it('takes a token, or a file of one beside it', async () => {
    expect(await accessOf(file({ token: 'a' }))).to.deep.equal({ kubernetes, token: 'a' })
    expect(await accessOf(file({ tokenFile: 'token' }))).to.deep.equal({ kubernetes, token: 'from-file' })
  })

  const refused: [string, object | string, RegExp][] = [
    ['a user who signs in by a plugin', file({ exec: { command: 'x' } }), /use `kubectl apply`/],
    ['a context without a cluster', file({ token: 'a' }, { context: 'other' }), /lacks the cluster or the user/],
    ['a file without a current context', { clusters: [] }, /is not a kubeconfig/],
    ['what is no YAML', 'a: [', /is not a kubeconfig/],
  ]
  for (const [what, content, expected] of refused) {
    it(`refuses ${what}, with a sentence`, async () => {
      const said = await accessOf(content).then(String, (error: Error) => error.message)
      expect(said).to.match(expected)
    })
  }

  it('says that a file cannot be read', async () => {
    const said = await accessOfKubeconfig(join(folder, 'nowhere')).then(String, (error: Error) => error.message)
    expect(said).to.contain('cannot be read')
  })
})
