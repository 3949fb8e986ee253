import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'

const root = join(import.meta.dirname, '..')
type LockedPackage = { version?: string; resolved?: string; optionalDependencies?: Record<string, string> }

describe('the bootstrap', () => {
  const bootstrap = (...words: string[]) =>
    spawnSync(process.execPath, [join(root, 'scripts/bootstrap.mjs'), ...words], { encoding: 'utf8' })

  for (const words of [[], ['nothing'], ['../up'], ['controlplane/start']]) {
    it(`refuses to run "${words.join(' ')}"`, () => {
      const { status, stderr } = bootstrap(...words)
      expect(status).to.equal(1)
      expect(stderr).to.match(/There is no scripts\/.*Usage:/)
    })
  }

  it('hands on words and exit code', () => {
    const { status, stderr } = bootstrap('down', '--no-such-flag')
    expect(status).to.equal(2)
    expect(stderr).to.include('--no-such-flag')
  })
})

describe('the Node that a first start needs', () => {
  const read = (path: string) => readFileSync(join(root, path), 'utf8')

  it('is the same in the README, the package and the bootstrap', () => {
    const { engines } = JSON.parse(read('package.json')) as { engines: { node: string } }
    const [, said] = /Node (\d+) or newer/.exec(read('README.md')) ?? []
    const [, tried] = /any Node from (\d+) on/.exec(read('scripts/bootstrap.mjs')) ?? []
    expect([said, tried].map((major) => `>=${major}`)).to.deep.equal([engines.node, engines.node])
  })

  it('is not what npm warns of: the packages run under the one that they bring', () => {
    expect(read('.npmrc')).to.match(/^loglevel=error$/m)
  })
})

describe('the lock of the packages', () => {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, LockedPackage>
  }

  it('names the packages of other platforms too, or npm ci refuses it', () => {
    const wanted = Object.values(packages).flatMap(({ optionalDependencies = {} }) => Object.keys(optionalDependencies))
    expect(wanted.length).to.be.greaterThan(5)
    expect(wanted.filter((name) => packages[`node_modules/${name}`]?.version === undefined)).to.deep.equal([])
  })

  it('names no address of a registry', () => {
    const addressed = Object.entries(packages).filter(([, { resolved }]) => resolved !== undefined)
    expect(addressed.map(([name]) => name)).to.deep.equal([])
  })
})
