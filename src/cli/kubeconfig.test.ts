import { expect } from 'chai'
import { UnsecuredJWT } from 'jose'
import { buildExecCredential, buildKubeconfig, isOwnKubeconfig } from './kubeconfig.ts'

const NOW = Date.UTC(2026, 0, 1)
const tokenThatEnds = (seconds: number) => new UnsecuredJWT({ exp: NOW / 1000 + seconds }).encode()
type Credential = { kind: string; apiVersion: string; status: { token: string; expirationTimestamp?: string } }

describe('buildKubeconfig', () => {
  const kubernetes = { server: 'https://127.0.0.1:6443', certificateAuthorityData: 'cGVt' }
  const facadeUrl = 'https://api.example.com:8443'
  const parts = {
    facadeUrl,
    kubernetes,
    program: ['/usr/bin/node', '/opt/freehold.mjs'] as const,
    namespace: 'search-0123456789',
  }

  it('names the CLI as the credential plugin and contains no token', () => {
    const made = buildKubeconfig(parts) as { users: { user: { exec: object } }[]; contexts: { context: object }[] }
    expect(made.users[0]?.user).to.have.all.keys('exec')
    expect(made.users[0]?.user.exec).to.deep.include({
      command: '/usr/bin/node',
      args: ['/opt/freehold.mjs', 'token', '--exec-credential', '--platform', facadeUrl],
      interactiveMode: 'Never',
    })
    expect(made.contexts[0]?.context).to.include({ namespace: 'search-0123456789' })
  })

  it('names the context after the platform', () => {
    const made = buildKubeconfig(parts) as { 'current-context': string; contexts: { name: string }[] }
    expect([made['current-context'], made.contexts[0]?.name]).to.deep.equal(
      Array(2).fill('freehold-api.example.com:8443'),
    )
  })

  it('is recognized by isOwnKubeconfig, which rejects others', () => {
    const other = { clusters: [{}], contexts: [{}], users: [{ name: 'freehold', user: { token: 'x' } }] }
    const verdicts = [buildKubeconfig(parts), other, undefined, 'text'].map(isOwnKubeconfig)
    expect(verdicts).to.deep.equal([true, false, false, false])
  })

  it('omits the certificate authority and the namespace if they are unknown', () => {
    const made = JSON.stringify(
      buildKubeconfig({ ...parts, kubernetes: { server: 'https://k.test' }, namespace: undefined }),
    )
    expect(made).to.not.include('certificate-authority').and.to.not.include('namespace')
  })
})

describe('buildExecCredential', () => {
  const cases: [string, string, string | undefined][] = [
    ['expires a minute before the token', tokenThatEnds(900), '2026-01-01T00:14:00Z'],
    ['expires after one second if the token expires within a minute', tokenThatEnds(30), '2026-01-01T00:00:01Z'],
    ['has no expiration if the token is opaque', 'opaque', undefined],
  ]
  for (const [what, token, until] of cases) {
    it(what, () => {
      const credential = buildExecCredential(token, NOW) as Credential
      expect(credential).to.include({ kind: 'ExecCredential', apiVersion: 'client.authentication.k8s.io/v1' })
      expect(credential.status.token).to.equal(token)
      expect(credential.status.expirationTimestamp).to.equal(until)
    })
  }
})
