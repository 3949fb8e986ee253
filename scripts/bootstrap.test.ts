import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { endOfOwn } from '../test/make/ownProcess.ts'
import { until } from '../test/make/until.ts'

const root = join(import.meta.dirname, '..')
const WAITS = 'Another script is installing the packages'
const LOCKED = { packages: { '': {}, 'node_modules/one': { version: '1.0.0' } } }
/**
 * An npm that records each start, waits for the file `go`, and removes what another one installs, as `npm ci` does. It ends
 * with its tree.
 */
const NPM = `#!/bin/sh
rm -rf node_modules
printf . >> installations
until [ -e go ]; do [ -e installations ] || exit 1; sleep 0.05; done
[ ! -e fails ] || exit 1
mkdir node_modules
cp package-lock.json node_modules/.package-lock.json
`
type LockedPackage = { version?: string; resolved?: string; optionalDependencies?: Record<string, string> }

describe('bootstrap.mjs', () => {
  const bootstrap = (...words: string[]) => endOfOwn([join(root, 'scripts/bootstrap.mjs'), ...words])

  for (const words of [[], ['nothing'], ['../up'], ['controlplane/start']]) {
    it(`rejects "${words.join(' ')}"`, () => {
      const { status, stderr } = bootstrap(...words)
      expect(status).to.equal(1)
      expect(stderr).to.match(/There is no scripts\/.*Usage:/)
    })
  }

  it('passes arguments and the exit code on', () => {
    const { status, stderr } = bootstrap('down', '--no-such-flag')
    expect(status).to.equal(2)
    expect(stderr).to.include('--no-such-flag')
  })
})

describe('bootstrap.mjs without installed packages', () => {
  let tree: string
  beforeEach(async () => {
    tree = await realpath(await mkdtemp(join(tmpdir(), 'freehold-bootstrap-')))
    await mkdir(join(tree, 'scripts'))
    await copyFile(join(root, 'scripts/bootstrap.mjs'), join(tree, 'scripts/bootstrap.mjs'))
    await writeFile(join(tree, 'scripts/hello.ts'), "process.stdout.write('hello')")
    await writeFile(join(tree, 'package-lock.json'), JSON.stringify(LOCKED))
    await mkdir(join(tree, 'bin'))
    await writeFile(join(tree, 'bin/npm'), NPM, { mode: 0o755 })
  })
  afterEach(() => rm(tree, { recursive: true, force: true }))

  /** Runs `npm run hello` there. `said` is its stderr so far. */
  const hello = () => {
    const child = spawn(process.execPath, [join(tree, 'scripts/bootstrap.mjs'), 'hello'], {
      env: { ...process.env, PATH: `${join(tree, 'bin')}:${process.env.PATH}` },
    })
    const script = { out: '', said: '', ended: new Promise<number | null>((done) => child.once('close', done)) }
    child.stdout.on('data', (chunk) => (script.out += String(chunk)))
    child.stderr.on('data', (chunk) => (script.said += String(chunk)))
    return script
  }
  const isThere = (name: string) => existsSync(join(tree, name))
  const installations = async () => (await readFile(join(tree, 'installations'), 'utf8')).length
  const letInstall = () => writeFile(join(tree, 'go'), '')

  it('installs once for three concurrent scripts, and runs all of them', async () => {
    const first = hello()
    await until('the first one installs', () => isThere('installations'))
    const others = [hello(), hello()]
    for (const other of others) await until('another one waits', () => other.said.includes(WAITS))
    expect(others.map(({ out }) => out)).to.deep.equal(['', ''])
    await letInstall()
    for (const { ended } of [first, ...others]) expect(await ended).to.equal(0)
    expect([first, ...others].map(({ out }) => out)).to.deep.equal(['hello', 'hello', 'hello'])
    expect(await installations()).to.equal(1)
    expect(first.said, 'it does not wait').not.to.include(WAITS)
    expect(isThere('.installing'), 'the lock is removed').to.equal(false)
  })

  it('takes over the lock of a killed process', async () => {
    const { pid } = spawnSync(process.execPath, ['--version'])
    await writeFile(join(tree, '.installing'), String(pid))
    await letInstall()
    const script = hello()
    expect(await script.ended).to.equal(0)
    expect(script.out).to.equal('hello')
    expect(await installations()).to.equal(1)
    expect(isThere('.installing')).to.equal(false)
  })

  const installsAtOnce = async () => {
    await letInstall()
    const script = hello()
    await until('it installs or waits', () => script.out !== '' || script.said.includes(WAITS))
    expect(script.said).not.to.include(WAITS)
    expect(await script.ended).to.equal(0)
    expect(await installations()).to.equal(1)
  }

  it('takes over the lock of a killed process whose pid another process has', async () => {
    await writeFile(join(tree, '.installing'), `${process.pid} 00000000-0000-0000-0000-000000000000:1`)
    await installsAtOnce()
  })

  it('takes over an empty lock', async () => {
    await writeFile(join(tree, '.installing'), '')
    await installsAtOnce()
  })

  it('installs once if six scripts find the lock of a killed process', async () => {
    const { pid } = spawnSync(process.execPath, ['--version'])
    await writeFile(join(tree, '.installing'), String(pid))
    const scripts = Array.from({ length: 6 }, hello)
    await until('one installs', () => isThere('installations'))
    await until('all others wait', () => scripts.filter(({ said }) => said.includes(WAITS)).length === 5)
    await letInstall()
    for (const { ended } of scripts) expect(await ended).to.equal(0)
    expect(await installations()).to.equal(1)
    expect((await readdir(tree)).filter((name) => name.startsWith('.installing'))).to.deep.equal([])
  })

  it('fails and removes the lock if npm fails', async () => {
    await writeFile(join(tree, 'fails'), '')
    await letInstall()
    const script = hello()
    expect(await script.ended).to.equal(1)
    expect(script.said).to.include('npm ci failed')
    expect(isThere('.installing')).to.equal(false)
  })
})

describe('Node version for the first start', () => {
  const read = (path: string) => readFileSync(join(root, path), 'utf8')

  it('is equal in README.md, package.json and bootstrap.mjs', () => {
    const { engines } = JSON.parse(read('package.json')) as { engines: { node: string } }
    const [, said] = /Node (\d+) or newer/.exec(read('README.md')) ?? []
    const [, tried] = /any Node from (\d+) on/.exec(read('scripts/bootstrap.mjs')) ?? []
    expect([said, tried].map((major) => `>=${major}`)).to.deep.equal([engines.node, engines.node])
  })

  it('causes no warnings of npm, which has the log level error', () => {
    expect(read('.npmrc')).to.match(/^loglevel=error$/m)
  })
})

describe('package-lock.json', () => {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, LockedPackage>
  }

  it('contains the optional packages of other platforms, which npm ci requires', () => {
    const wanted = Object.values(packages).flatMap(({ optionalDependencies = {} }) => Object.keys(optionalDependencies))
    expect(wanted.length).to.be.greaterThan(5)
    expect(wanted.filter((name) => packages[`node_modules/${name}`]?.version === undefined)).to.deep.equal([])
  })

  it('contains no URL of a registry', () => {
    const addressed = Object.entries(packages).filter(([, { resolved }]) => resolved !== undefined)
    expect(addressed.map(([name]) => name)).to.deep.equal([])
  })
})
