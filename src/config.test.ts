import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { z } from 'zod'
import {
  Configuration,
  ConfigurationError,
  overriddenSettings,
  readConfiguration,
  settingsIn,
  variableName,
  withoutSecrets,
} from './config.ts'

const least = { PLATFORM_ISSUER: 'https://login.example/realms/freehold' }

describe('configuration', () => {
  it('has defaults for all settings except the issuer', () => {
    const configuration = readConfiguration(least)
    expect(configuration.facadePort).to.equal(8080)
    expect(configuration.accessTokenSeconds).to.equal(900)
    expect(configuration.identityHost).to.equal('127.0.0.1')
  })

  it('reads variables named in upper snake case', () => {
    expect(variableName('facadePort')).to.equal('PLATFORM_FACADE_PORT')
    expect(readConfiguration({ ...least, PLATFORM_FACADE_PORT: '0', PLATFORM_LEADER_ELECTION: 'false' })).to.include({
      facadePort: 0,
      leaderElection: false,
    })
  })

  it('prefers a flag to a variable', () => {
    expect(readConfiguration({ ...least, PLATFORM_ROLE: 'facade' }, { role: 'controllers' }).role).to.equal(
      'controllers',
    )
  })

  const refused: [string, Record<string, string>, RegExp][] = [
    ['an unknown variable', { PLATFORM_FACADE_PROT: '1' }, /PLATFORM_FACADE_PROT/],
    ['a port above 65535', { PLATFORM_FACADE_PORT: '70000' }, /PLATFORM_FACADE_PORT/],
    ['an unknown role', { PLATFORM_ROLE: 'boss' }, /PLATFORM_ROLE/],
    ['an issuer that is not an HTTP URL', { PLATFORM_ISSUER: 'ftp://x' }, /PLATFORM_ISSUER/],
    ['one worker per controller', { PLATFORM_WORKERS_PER_CONTROLLER: '1' }, /WORKERS_PER_CONTROLLER/],
    ['a boolean that is neither true nor false', { PLATFORM_LEADER_ELECTION: 'perhaps' }, /PLATFORM_LEADER_ELECTION/],
    [
      'a URL without http',
      { PLATFORM_PROMETHEUS_URL: 'prometheus:9090' },
      /PROMETHEUS_URL must be an http or https URL/,
    ],
    ['a proxy that is no address', { PLATFORM_TRUSTED_PROXIES: '10.0.0.0/8, ingress' }, /TRUSTED_PROXIES.1 must be/],
    ['a proxy with an impossible prefix', { PLATFORM_TRUSTED_PROXIES: '10.0.0.0/33' }, /TRUSTED_PROXIES.0 must be/],
    ['a closed network that is none', { PLATFORM_CLOSED_NETWORKS: '10.0.0.1' }, /CLOSED_NETWORKS.0 must be a CIDR/],
    ['an impossible network', { PLATFORM_API_SERVER_NETWORKS: '10.0.0.300/32@443' }, /NETWORKS.0 must be a CIDR/],
    ['an impossible port', { PLATFORM_BUILD_NETWORKS: '10.0.0.0/8@70000' }, /BUILD_NETWORKS.0 must be a CIDR/],
    [
      'an outgoing host that is a URL',
      { PLATFORM_OUTGOING_HOSTS: 'https://git.corp' },
      /OUTGOING_HOSTS.0 must be a host/,
    ],
    ['an outgoing host in upper case', { PLATFORM_OUTGOING_HOSTS: 'Git.corp' }, /OUTGOING_HOSTS.0 must be a host/],
    ['an outgoing host with port 443', { PLATFORM_OUTGOING_HOSTS: 'git.corp:443' }, /OUTGOING_HOSTS.0 must be a host/],
    ['a registry host that is a URL', { PLATFORM_REGISTRY_HOST: 'https://r.corp' }, /REGISTRY_HOST must be a host/],
    ['a mirror that is a URL', { PLATFORM_BUILD_IMAGE_MIRROR: 'https://r.corp' }, /IMAGE_MIRROR must be a host/],
    ['a domain with a space', { PLATFORM_CLUSTER_DOMAIN: 'apps example' }, /CLUSTER_DOMAIN must be a domain/],
    ['a domain in upper case', { PLATFORM_CLUSTER_DOMAIN: 'Apps.example.com' }, /CLUSTER_DOMAIN must be a domain/],
    ['an image that is a URL', { PLATFORM_FILES_IMAGE: 'https://r.corp/freehold' }, /FILES_IMAGE must be an image/],
    ['a limit that is no quantity', { PLATFORM_BUILD_CPU_LIMIT: 'lots' }, /BUILD_CPU_LIMIT must be a quantity/],
    ['agents without TLS', { PLATFORM_AGENT_URL: 'http://agents.corp' }, /AGENT_URL must be an https URL/],
    ['a label that is no pair', { PLATFORM_NAMESPACE_LABELS: 'team' }, /NAMESPACE_LABELS.0 .*such as istio/],
    ['a label with a space', { PLATFORM_NAMESPACE_LABELS: 'team=a b' }, /NAMESPACE_LABELS.0 .*such as istio/],
    ['a label of the platform', { PLATFORM_NAMESPACE_LABELS: 'freehold.dev/full=x' }, /NAMESPACE_LABELS must have no/],
    [
      'another Pod Security level',
      { PLATFORM_NAMESPACE_LABELS: 'a=b,pod-security.kubernetes.io/enforce=privileged' },
      /NAMESPACE_LABELS must have no name that begins with/,
    ],
    [
      'an annotation of the platform',
      { PLATFORM_NAMESPACE_ANNOTATIONS: 'freehold.dev/incarnation=x' },
      /NAMESPACE_ANNOTATIONS must have no/,
    ],
    ['a sender without an address', { PLATFORM_MAIL_FROM: 'Freehold' }, /MAIL_FROM must contain an address/],
  ]
  for (const [what, variables, message] of refused) {
    it(`is rejected with ${what}, which the error names`, () => {
      expect(() => readConfiguration({ ...least, ...variables })).to.throw(ConfigurationError, message)
    })
  }

  it('accepts networks, hosts and images in each of their forms', () => {
    const configuration = readConfiguration({
      ...least,
      PLATFORM_TRUSTED_PROXIES: 'loopback, 10.0.0.7, fd00::/8',
      PLATFORM_CLOSED_NETWORKS: '10.1.2.3/8,fd00::/8',
      PLATFORM_BUILD_NETWORKS: '10.1.2.3/32@443+5000, 0.0.0.0/0',
      PLATFORM_OUTGOING_HOSTS: 'git.corp, git.corp:8443, 10.0.0.7:22, [fd00::7]:8443',
      PLATFORM_REGISTRY_HOST: 'registry.corp:5000',
      PLATFORM_BUILD_IMAGE_MIRROR: 'registry.corp:5000/docker-hub',
      PLATFORM_FILES_IMAGE: 'registry.corp:5000/mirror/freehold:0.1.0',
      PLATFORM_MAIL_FROM: 'Freehold <noreply@example.com>',
    })
    expect(configuration.trustedProxies).to.deep.equal(['loopback', '10.0.0.7', 'fd00::/8'])
    expect(configuration.buildNetworks).to.have.length(2)
  })

  const numbers = Object.keys(Configuration.shape).filter(
    (name) =>
      typeof Configuration.shape[name as keyof typeof Configuration.shape].safeParse('2000000').data === 'number',
  )
  for (const name of [...numbers, 'facadePort', 'traceRatio', 'releaseFeedMinutes'])
    it(`rejects an empty or boolean value for the number ${name}`, () => {
      const folder = mkdtempSync(join(tmpdir(), 'configuration-'))
      const file = join(folder, 'settings.yaml')
      try {
        expect(() => readConfiguration({ ...least, [variableName(name)]: ' ' })).to.throw(variableName(name))
        writeFileSync(file, `${name}:\n`)
        expect(() => readConfiguration({ ...least, PLATFORM_CONFIG_FILE: file })).to.throw(`"${name}" in ${file}`)
        writeFileSync(file, `${name}: true\n`)
        expect(() => readConfiguration({ ...least, PLATFORM_CONFIG_FILE: file })).to.throw(`"${name}" in ${file}`)
      } finally {
        rmSync(folder, { recursive: true })
      }
    })

  it('names the place and the requirement of each invalid setting', () => {
    const folder = mkdtempSync(join(tmpdir(), 'configuration-'))
    const file = join(folder, 'settings.yaml')
    writeFileSync(file, 'facadePort: abc\nunknownKey: 1\nrole: all\n')
    const refusal = (variables: Record<string, string>) => {
      try {
        readConfiguration(variables)
      } catch (error) {
        return (error as Error).message
          .split('\n')
          .slice(1, -1)
          .map((line) => line.trim())
      }
      return []
    }
    const found = refusal({ PLATFORM_CONFIG_FILE: file, PLATFORM_ROLE: 'boss' })
    rmSync(folder, { recursive: true })
    expect(found).to.deep.equal([
      'PLATFORM_ROLE must be one of facade, controllers, activator, all, agent.',
      `"facadePort" in ${file} must be a number.`,
      'PLATFORM_ISSUER is required (a string).',
      `"unknownKey" in ${file} is not a setting.`,
    ])
  })

  it('has patterns that Helm can read too, which knows no look-ahead, look-behind or back-reference', () => {
    const schema = JSON.stringify(z.toJSONSchema(Configuration, { io: 'input', unrepresentable: 'any' }))
    const patterns = [...schema.matchAll(/"pattern":("(?:[^"\\]|\\.)*")/g)].map(([, text = '']) =>
      String(JSON.parse(text)),
    )
    expect(patterns.length).to.be.greaterThan(5)
    expect(patterns.filter((pattern) => /\(\?[=!<]|\\[1-9k]/.test(pattern))).to.deep.equal([])
  })

  it('has a description of every setting', () => {
    const silent = Object.entries(Configuration.shape).filter(([, field]) => (field.description ?? '') === '')
    expect(silent.map(([name]) => name)).to.deep.equal([])
  })

  it('ignores the variables of the command line', () => {
    expect(readConfiguration({ ...least, PLATFORM_TOKEN: 'x', PLATFORM_CLIENT_SECRET: 'y' }).role).to.equal('all')
  })

  it('settingsIn returns variables of the platform, misspelt ones included, and none of the command line', () => {
    const meant = { PLATFORM_LOG_LEVEL: 'debug', PLATFORM_LOGLEVEL: 'debug' }
    expect(settingsIn({ ...meant, PLATFORM_TOKEN: 'x', HOME: '/root' })).to.deep.equal(meant)
  })

  it('overriddenSettings names settings of the file that a variable changes', () => {
    const folder = mkdtempSync(join(tmpdir(), 'configuration-'))
    const file = join(folder, 'settings.yaml')
    writeFileSync(file, 'drainSeconds: 20\nagentPort: 8444\nlogLevel: warn\n')
    const variables = { PLATFORM_DRAIN_SECONDS: '5', PLATFORM_AGENT_PORT: '8444', PLATFORM_REGION: 'north' }
    const found = overriddenSettings({ ...least, ...variables, PLATFORM_CONFIG_FILE: file })
    rmSync(folder, { recursive: true })
    expect(found).to.deep.equal(['drainSeconds'])
    expect(overriddenSettings({ ...least, ...variables })).to.deep.equal([])
  })

  it('withoutSecrets redacts the password of the mail server', () => {
    const smtpUrl = 'smtps://post:hunter2@mail.example.com:465'
    const shown = withoutSecrets({ smtpUrl } as Configuration)
    expect(shown.smtpUrl).to.equal('smtps://post:redacted@mail.example.com:465')
    expect(withoutSecrets({} as Configuration)).to.deep.equal({})
  })

  it('withoutSecrets redacts passwords and tokens in every URL', () => {
    const names = Object.keys(Configuration.shape).filter((name) => /(Url|Endpoint)$/.test(name))
    expect(names).to.include.members(['smtpUrl', 'prometheusUrl', 'otlpEndpoint'])
    for (const name of names)
      for (const user of ['post:hunter2', ':hunter2', ...(name === 'smtpUrl' ? [] : ['hunter2'])]) {
        const shown = withoutSecrets({ [name]: `https://${user}@system.example.com/a` } as unknown as Configuration)
        expect(JSON.stringify(shown), name).to.include('system.example.com/a').and.not.include('hunter2')
      }
  })
})
