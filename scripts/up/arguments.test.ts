import { join, resolve } from 'node:path'
import { expect } from 'chai'
import { HelpAsked, parsed, readableFile, UsageError } from '../commandLine.ts'
import { parseDownArguments, parseUpArguments } from './arguments.ts'

describe('the arguments of up', () => {
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

  it('are all read', () => {
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
    ['an unknown flag', ['--fast']],
    ['a stray word', ['now']],
    ['a port that is none', ['--facade-port', 'http']],
    ['a port beyond the last', ['--facade-port', '65536']],
    ['no nodes', ['--nodes', '0']],
    ['a flag without its value', ['--data']],
  ]
  for (const [title, words] of refused) {
    it(`refuse ${title} and show the usage`, () => {
      expect(() => parseUpArguments(words)).to.throw(UsageError, /Usage: npm run up/)
    })
  }

  for (const words of [['--help'], ['-h'], ['--detach', '--help'], ['--fast', '--help']]) {
    it(`ask for the usage with ${words.join(' ')}`, () => {
      expect(() => parseUpArguments(words)).to.throw(HelpAsked, /^Usage: npm run up/)
      expect(() => parseDownArguments(words)).to.throw(HelpAsked, /^Usage: npm run down/)
    })
  }

  it('leave to another command what stands behind two hyphens', () => {
    expect(parsed(['--', 'date', '--help'], 'Usage', {}, true).positionals).to.deep.equal(['date', '--help'])
  })

  it('name the option and the file that cannot be read', async () => {
    const refusal = (path: string) => readableFile('--kubeconfig', path).then(String, (error: unknown) => error)
    expect(await refusal(join(import.meta.dirname, 'arguments.ts'))).to.equal('undefined')
    const missing = join(import.meta.dirname, 'nothing')
    expect(await refusal(missing)).to.be.instanceOf(UsageError)
    expect(String(await refusal(missing))).to.include(`--kubeconfig names ${missing}, which does not exist.`)
    expect(String(await refusal(import.meta.dirname))).to.include('which is a folder.')
  })

  it('of down refuse what up alone knows', () => {
    expect(() => parseDownArguments(['--fresh'])).to.throw(UsageError, /Usage: npm run down/)
  })
})
