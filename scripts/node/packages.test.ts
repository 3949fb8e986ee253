import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { expect } from 'chai'
import { silentProgress } from '../controlplane/progress.ts'
import { unpackedPackages } from './packages.ts'

/** An apt-get whose package lists are valid after `FRESH` updates. */
const APT = `#!/bin/sh
for word; do case $word in update|install) echo "$word" >> "$SAID";; esac; done
[ "$(tail -n1 "$SAID")" = update ] || [ "$(grep -c update "$SAID")" -ge "$FRESH" ] || { echo 'E: Failed to fetch: 404 Not Found' >&2; exit 100; }
`

describe('unpackedPackages', () => {
  const { PATH } = process.env
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-packages-'))
    await writeFile(join(folder, 'apt-get'), APT, { mode: 0o755 })
    Object.assign(process.env, { PATH: `${folder}${delimiter}${PATH}`, SAID: join(folder, 'said') })
  })
  afterEach(async () => {
    process.env.PATH = PATH
    delete process.env.SAID
    delete process.env.FRESH
    await rm(folder, { recursive: true, force: true })
  })

  const unpack = (name: string) => {
    const search = { progress: silentProgress, signal: undefined, environment: { XDG_CACHE_HOME: folder } }
    return unpackedPackages({ name, packages: [name], dependencies: 'all' }, search)
  }
  const said = async () => (await readFile(join(folder, 'said'), 'utf8')).trim().split('\n')

  it('updates the package lists once', async () => {
    process.env.FRESH = '1'
    for (const name of ['one', 'two']) expect(await readdir(await unpack(name))).to.include('usr')
    expect(await said()).to.deep.equal(['update', 'install', 'install'])
  })

  it('updates the package lists again if a package is missing', async () => {
    process.env.FRESH = '1'
    await unpack('one')
    process.env.FRESH = '2'
    expect(await readdir(await unpack('two'))).to.include('usr')
    expect((await said()).slice(2)).to.deep.equal(['install', 'update', 'install'])
  })

  it('fails after one update for an unknown package', async () => {
    process.env.FRESH = '9'
    const message = await unpack('none').catch((error: Error) => error.message)
    expect(message).to.include('none').and.include('404')
    expect(await said()).to.deep.equal(['update', 'install', 'update', 'install'])
  })
})
