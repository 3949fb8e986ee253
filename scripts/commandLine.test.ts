import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { endOfOwn } from '../test/make/ownProcess.ts'
import { HelpAsked, parsed, UsageError } from './commandLine.ts'

const { scripts } = JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')) as {
  scripts: Record<string, string>
}
const PROGRAMS = new Set(Object.values(scripts).flatMap((line) => /bootstrap\.mjs (\w+)/.exec(line)?.[1] ?? []))

describe('scripts of package.json', () => {
  const run = (name: string, word: string) => endOfOwn([join(import.meta.dirname, `${name}.ts`), word])

  // `test` passes unknown options on to mocha, which rejects them.
  for (const name of [...PROGRAMS].filter((program) => program !== 'test')) {
    it(`reject an unknown option: ${name}`, () => {
      const { status, stderr } = run(name, '--no-such-option')
      expect(stderr).to.match(/--no-such-option[\s\S]*Usage: npm run/)
      expect(status).to.equal(2)
    })
  }

  for (const name of ['test', 'client']) {
    it(`print their usage with --help: ${name}`, () => {
      const { status, stdout } = run(name, '--help')
      expect(stdout).to.match(/^Usage: npm (run|test)/)
      expect(status).to.equal(0)
    })
  }

  for (const name of ['up', 'down']) {
    it(`reject a file as data folder: ${name}`, () => {
      const { status, stderr } = run(name, `--data=${import.meta.filename}`)
      expect(stderr).to.equal(`--data names ${import.meta.filename}, which is no folder.\n`)
      expect(status).to.equal(2)
    })
  }

  it('do not create the data folder: down', () => {
    const folder = join(import.meta.dirname, 'nothing')
    const { status, stdout } = run('down', `--data=${folder}`)
    expect(stdout).to.equal(`Nothing runs on ${folder}.\n`)
    expect(status).to.equal(0)
    expect(existsSync(folder)).to.equal(false)
  })

  it('reject a folder that is no client package: client', () => {
    const { status, stderr } = run('client', join(import.meta.dirname, 'nothing'))
    expect(stderr).to.include('Usage: npm run --silent client')
    expect(status).to.equal(2)
  })
})

describe('options that npm took for itself', () => {
  const options = {
    fresh: { type: 'boolean', default: false },
    git: { type: 'boolean' },
    data: { type: 'string' },
  } as const
  const given = (environment: Record<string, string>, words: string[] = []) =>
    parsed(words, 'Usage: npm run up -- [options]', options, false, environment)

  const taken: Record<string, string>[] = [
    { npm_config_fresh: 'true' },
    { npm_config_git: '' },
    { npm_config_data: 'elsewhere' },
    { npm_config_data: 'true' },
  ]
  for (const environment of taken) {
    it(`are rejected: ${JSON.stringify(environment)}`, () => {
      expect(() => given(environment)).to.throw(UsageError, /npm took --\w+ for itself.*"--"[\s\S]*Usage/)
    })
  }

  it('are named in full: --facade-port', () => {
    const port = { 'facade-port': { type: 'string' } } as const
    expect(() => parsed([], 'Usage', port, false, { npm_config_facade_port: '80' })).to.throw(
      UsageError,
      '--facade-port',
    )
  })

  it('are ignored if npm has a setting of that name', () => {
    expect(
      given({ npm_config_git: '/usr/bin/git', npm_config_data: '', npm_config_loglevel: 'error' }).values.fresh,
    ).to.equal(false)
  })

  it('do not prevent --help', () => {
    expect(() => given({ npm_config_fresh: 'true' }, ['--help'])).to.throw(HelpAsked)
  })
})
