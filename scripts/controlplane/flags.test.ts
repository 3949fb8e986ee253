import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { load } from 'js-yaml'
import { MAX_AUDIT_LOG_BYTES } from '../../src/contracts/auditLog.ts'
import { authenticationConfiguration, authorizationConfiguration } from './access.ts'
import { apiServerFlags, controllerManagerFlags, etcdFlags, type FlagOptions } from './flags.ts'

const options: FlagOptions = {
  folder: '/d',
  ports: { apiServer: 1, etcd: 2, etcdHttp: 4, etcdPeer: 3 },
  durable: true,
  audit: false,
}

describe('flags of etcd, the API server and the controller manager', () => {
  it('bind to loopback', () => {
    expect(apiServerFlags(options)).to.include.members(['--bind-address=127.0.0.1', '--secure-port=1'])
    const urls = etcdFlags(options).filter((flag) => flag.includes('-urls='))
    expect(urls).to.have.length(5)
    for (const flag of urls) expect(flag).to.match(/=https:\/\/127\.0\.0\.1:[234]$/)
    expect(controllerManagerFlags(options)).to.include('--secure-port=0')
  })

  it('require client certificates for etcd', () => {
    expect(etcdFlags(options)).to.include.members([
      '--client-cert-auth=true',
      '--trusted-ca-file=/d/pki/etcd-ca.crt',
      '--peer-client-cert-auth=true',
    ])
  })

  it('disable fsync only if durable is false', () => {
    expect(etcdFlags(options).join(' ')).to.not.include('fsync')
    expect(etcdFlags({ ...options, durable: false })).to.include('--unsafe-no-fsync=true')
  })

  it('configure the audit webhook only if audit is true', () => {
    expect(apiServerFlags(options).join(' ')).to.not.include('audit')
    expect(apiServerFlags({ ...options, audit: true })).to.include(
      '--audit-webhook-config-file=/d/kubeconfigs/audit-webhook',
    )
  })

  it('truncate audit batches and events to MAX_AUDIT_LOG_BYTES', () => {
    const given = apiServerFlags({ ...options, audit: true })
    for (const what of ['batch', 'event'])
      expect(given).to.include(`--audit-webhook-truncate-max-${what}-size=${MAX_AUDIT_LOG_BYTES}`)
  })

  it('are unique', () => {
    for (const list of [etcdFlags(options), apiServerFlags(options), controllerManagerFlags(options)]) {
      const names = list.map((flag) => flag.split('=')[0])
      expect(new Set(names).size).to.equal(names.length)
    }
  })
})

describe('authenticationConfiguration and authorizationConfiguration', () => {
  it('have no JWT authenticator without an issuer', () => {
    expect(authenticationConfiguration(undefined)).to.have.property('jwt').that.is.empty
  })

  it('allow anonymous requests to health endpoints only', () => {
    expect(authenticationConfiguration(undefined))
      .to.have.nested.property('anonymous.conditions')
      .that.deep.equals([{ path: '/livez' }, { path: '/readyz' }, { path: '/healthz' }])
  })

  it('map every token to a group of principals and no group of the token', () => {
    const configuration = authenticationConfiguration({ issuerUrl: 'https://i', caPem: 'ca', audience: 'a' })
    expect(configuration)
      .to.have.nested.property('jwt[0].claimMappings')
      .that.deep.includes({
        groups: { expression: "['freehold:principals-' + claims.sub.substring(0, 1)]" },
      })
  })

  it('are what docs/install.md shows, but for anonymous requests, which depend on the cluster', () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/install.md'), 'utf8')
    const [, block = ''] = /```yaml\n([^`]*kind: AuthenticationConfiguration\n[^`]*)```/.exec(page) ?? []
    const shown = load(block) as {
      jwt: { issuer: { url: string; audiences: string[]; certificateAuthority: string } }[]
    }
    const { url: issuerUrl = '', audiences = [], certificateAuthority: caPem = '' } = shown.jwt[0]?.issuer ?? {}
    const ours = authenticationConfiguration({ issuerUrl, audience: audiences[0] ?? '', caPem })
    expect(issuerUrl).to.match(/^https:/)
    expect({ ...ours, anonymous: undefined }).to.deep.equal({ ...shown, anonymous: undefined })
  })

  it('call the webhook before RBAC, deny on failure and cache nothing', () => {
    const configuration = authorizationConfiguration('/k') as { authorizers: { type: string; webhook?: object }[] }
    expect(configuration.authorizers.map(({ type }) => type)).to.deep.equal(['Node', 'Webhook', 'RBAC'])
    expect(configuration.authorizers[1]?.webhook).to.include({
      failurePolicy: 'Deny',
      cacheAuthorizedRequests: false,
      cacheUnauthorizedRequests: false,
    })
  })

  for (const namespace of ['kube-system', 'freehold-system', 'velero'])
    it(`exempt the service accounts of ${namespace} from the webhook`, () => {
      const exempt = JSON.stringify(authorizationConfiguration('/k'))
      expect(exempt).to.contain(`'system:serviceaccounts:${namespace}' in request.groups`)
    })
})
