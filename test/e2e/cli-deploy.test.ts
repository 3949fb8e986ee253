import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { freeholdSucceeds, freehold as runFreehold } from '../worlds/freehold.ts'
import { makeBoundary, makeGroup, uniqueName } from '../worlds/platform.ts'
import { PLATFORM_VARIABLE } from '../worlds/tenant.ts'

describe('freehold deploy', () => {
  let home: string
  let folder: string
  const name = uniqueName('shop')

  const freehold = (...words: string[]) => runFreehold(words, { home })
  const succeeds = (...words: string[]) => freeholdSucceeds(words, { home })

  before(async () => {
    home = await mkdtemp(join(tmpdir(), 'freehold-deploy-'))
    folder = join(home, name)
    await mkdir(join(folder, 'node_modules'), { recursive: true })
    await writeFile(join(folder, 'package.json'), '{"name": "shop"}')
    await writeFile(join(folder, 'node_modules', 'large.js'), '')
    await succeeds('setup', '--dev', process.env[PLATFORM_VARIABLE] ?? '')
    const { id } = await makeBoundary()
    const group = await makeGroup(id)
    await succeeds('use', '--boundary', id, '--group', group.name)
  })
  after(() => rm(home, { recursive: true, force: true }))

  it('creates an app from a folder, prints log and phases, sets its environment and rolls it back', async function () {
    const first = await freehold('deploy', folder)
    if (first.err.includes('ENGINE_MISSING')) this.skip()
    expect(first.code, first.err).to.equal(0)
    expect(first.err).to.include('Sending 1 file,').and.to.include('Succeeded').and.to.include(`https://${name}-`)
    expect(first.out).to.include('simulated')
    expect((await succeeds('open', 'app', name)).out).to.match(new RegExp(`^https://${name}-`))
    await succeeds('env', 'set', 'app', name, 'COLOUR=blue', 'SIZE=2', '--wait')
    await succeeds('env', 'unset', 'app', name, 'SIZE', '--wait')
    expect((await succeeds('env', 'list', 'app', name, '-o', 'json')).out)
      .to.include('blue')
      .and.not.to.include('SIZE')
    await succeeds('rollback', 'app', name, '1', '--wait')
    expect(JSON.parse((await succeeds('env', 'list', 'app', name, '-o', 'json')).out)).to.deep.equal([])
    await succeeds('logs', 'app', name)
    expect((await freehold('rollback', 'app', name, '99')).code).to.equal(1)
  })

  it('uploads the files of a function, and follows its build', async function () {
    const code = join(home, 'hello')
    await mkdir(code)
    await writeFile(join(code, 'index.mjs'), "export default () => new Response('hello')")
    const inCalls = ['-p', 'namespaceName=calls']
    await succeeds('create', 'functionnamespace', 'calls', '-d', '{"runtime":"nodejs"}')
    const spec = '{"handler":"index","triggers":[{"name":"web","kind":"Http","path":"/hello","authLevel":"Anonymous"}]}'
    await succeeds('create', 'function', 'hello', ...inCalls, '-d', spec)
    const deployed = await freehold('deploy', code, '--kind', 'function', ...inCalls)
    if (deployed.err.includes('ENGINE_MISSING')) this.skip()
    expect(deployed.code, deployed.err).to.equal(0)
    expect(deployed.err).to.include('Sending 1 file').and.to.include('Succeeded')
    const { out } = await succeeds('get', 'function', 'hello', ...inCalls, '-o', 'json')
    expect(JSON.parse(out)).to.include({ buildStatus: 'Succeeded' })
  })
})
