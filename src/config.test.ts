import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import {
  Configuration,
  ConfigurationError,
  readConfiguration,
  settingsIn,
  variableName,
  withoutSecrets,
} from './config.ts'

const least = { PLATFORM_ISSUER: 'https://login.example/realms/freehold' }

describe('configuration', () => {
  it('takes defaults for everything but the issuer', () => {
    const configuration = readConfiguration(least)
    expect(configuration.facadePort).to.equal(8080)
    expect(configuration.accessTokenSeconds).to.equal(900)
    expect(configuration.identityHost).to.equal('127.0.0.1')
  })

  it('reads variables by the upper snake case of their names', () => {
    expect(variableName('facadePort')).to.equal('PLATFORM_FACADE_PORT')
    expect(readConfiguration({ ...least, PLATFORM_FACADE_PORT: '0', PLATFORM_LEADER_ELECTION: 'false' })).to.include({
      facadePort: 0,
      leaderElection: false,
    })
  })

  it('lets a flag win over a variable', () => {
    expect(readConfiguration({ ...least, PLATFORM_ROLE: 'facade' }, { role: 'controllers' }).role).to.equal(
      'controllers',
    )
  })

  const refused: [string, Record<string, string>, RegExp][] = [
    ['a variable that nobody knows', { PLATFORM_FACADE_PROT: '1' }, /PLATFORM_FACADE_PROT/],
    ['a port beyond 65535', { PLATFORM_FACADE_PORT: '70000' }, /PLATFORM_FACADE_PORT/],
    ['a role that does not exist', { PLATFORM_ROLE: 'boss' }, /PLATFORM_ROLE/],
    ['an issuer that is not an http address', { PLATFORM_ISSUER: 'ftp://x' }, /PLATFORM_ISSUER/],
    ['one worker, which a slow cluster would keep', { PLATFORM_WORKERS_PER_CONTROLLER: '1' }, /WORKERS_PER_CONTROLLER/],
    ['a flag that is neither yes nor no', { PLATFORM_LEADER_ELECTION: 'perhaps' }, /PLATFORM_LEADER_ELECTION/],
  ]
  for (const [what, variables, message] of refused) {
    it(`refuses ${what} and names it`, () => {
      expect(() => readConfiguration({ ...least, ...variables })).to.throw(ConfigurationError, message)
    })
  }

  const numbers = Object.keys(Configuration.shape).filter(
    (name) =>
      typeof Configuration.shape[name as keyof typeof Configuration.shape].safeParse('2000000').data === 'number',
  )
  for (const name of [...numbers, 'facadePort', 'traceRatio', 'releaseFeedMinutes'])
    it(`takes nothing for no number, such as 0 (${name})`, () => {
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

  it('says where a wrong setting stands and what it must be, in words of its own', () => {
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

  it('says of every setting what it is for', () => {
    const silent = Object.entries(Configuration.shape).filter(([, field]) => (field.description ?? '') === '')
    expect(silent.map(([name]) => name)).to.deep.equal([])
  })

  it("leaves the command-line client's variables alone", () => {
    expect(readConfiguration({ ...least, PLATFORM_TOKEN: 'x', PLATFORM_CLIENT_SECRET: 'y' }).role).to.equal('all')
  })

  it('tells what an environment means for the platform, misspelt or not, and nothing of the command line', () => {
    const meant = { PLATFORM_LOG_LEVEL: 'debug', PLATFORM_LOGLEVEL: 'debug' }
    expect(settingsIn({ ...meant, PLATFORM_TOKEN: 'x', HOME: '/root' })).to.deep.equal(meant)
  })

  it('is shown without the password of the mail server', () => {
    const smtpUrl = 'smtps://post:hunter2@mail.example.com:465'
    const shown = withoutSecrets({ smtpUrl } as Configuration)
    expect(shown.smtpUrl).to.equal('smtps://post:redacted@mail.example.com:465')
    expect(withoutSecrets({} as Configuration)).to.deep.equal({})
  })

  it('is shown without the passwords and tokens in any of its URLs', () => {
    const names = Object.keys(Configuration.shape).filter((name) => /(Url|Endpoint)$/.test(name))
    expect(names).to.include.members(['smtpUrl', 'prometheusUrl', 'otlpEndpoint'])
    for (const name of names)
      for (const user of ['post:hunter2', ':hunter2', ...(name === 'smtpUrl' ? [] : ['hunter2'])]) {
        const shown = withoutSecrets({ [name]: `https://${user}@system.example.com/a` } as unknown as Configuration)
        expect(JSON.stringify(shown), name).to.include('system.example.com/a').and.not.include('hunter2')
      }
  })
})
