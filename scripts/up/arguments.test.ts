import { join, resolve } from 'node:path'
import { expect } from 'chai'
import { HelpAsked, parsed, readableFile, UsageError } from '../commandLine.ts'
import { parseDownArguments, parseUpArguments } from './arguments.ts'

describe('parseUpArguments and parseDownArguments', () => {
  it('have defaults', () => {
    expect(parseUpArguments([])).to.deep.equal({
      detach: false,
      fresh: false,
      supervise: false,
      kubeconfig: undefined,
      folder: resolve('.freehold'),
      facadePort: undefined,
      nodes: 1,
      node: false,
      git: false,
    })
  })

  it('read all options', () => {
    const words = [
      '--detach',
      '--fresh',
      '--kubeconfig',
      'k',
      '--data=d',
      '--facade-port',
      '8080',
      '--nodes',
      '3',
      '--git',
    ]
    expect(parseUpArguments(words)).to.include({
      detach: true,
      fresh: true,
      kubeconfig: resolve('k'),
      folder: resolve('d'),
      facadePort: 8080,
      nodes: 3,
      git: true,
    })
  })

  const refused: [string, string[]][] = [
    ['an unknown option', ['--fast']],
    ['a positional', ['now']],
    ['a port that is not a number', ['--facade-port', 'http']],
    ['a port above 65535', ['--facade-port', '65536']],
    ['zero nodes', ['--nodes', '0']],
    ['an option without its value', ['--data']],
  ]
  for (const [title, words] of refused) {
    it(`reject ${title} and show the usage`, () => {
      expect(() => parseUpArguments(words)).to.throw(UsageError, /Usage: npm run up/)
    })
  }

  for (const words of [['--help'], ['-h'], ['--detach', '--help'], ['--fast', '--help']]) {
    it(`show the usage for ${words.join(' ')}`, () => {
      expect(() => parseUpArguments(words)).to.throw(HelpAsked, /^Usage: npm run up/)
      expect(() => parseDownArguments(words)).to.throw(HelpAsked, /^Usage: npm run down/)
    })
  }

  it('leave arguments after two hyphens to another command', () => {
    expect(parsed(['--', 'date', '--help'], 'Usage', {}, true).positionals).to.deep.equal(['date', '--help'])
  })

  it('name the option and the path that cannot be read', async () => {
    const refusal = (path: string) => readableFile('--kubeconfig', path).then(String, (error: unknown) => error)
    expect(await refusal(join(import.meta.dirname, 'arguments.ts'))).to.equal('undefined')
    const missing = join(import.meta.dirname, 'nothing')
    expect(await refusal(missing)).to.be.instanceOf(UsageError)
    expect(String(await refusal(missing))).to.include(`--kubeconfig names ${missing}, which does not exist.`)
    expect(String(await refusal(import.meta.dirname))).to.include('which is a folder.')
  })

  it('reject options of up for down', () => {
    expect(() => parseDownArguments(['--fresh'])).to.throw(UsageError, /Usage: npm run down/)
  })
})
