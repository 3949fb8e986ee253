import { chmod, mkdir, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { startControlPlane } from './start.ts'

describe('data folder of startControlPlane', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-folder-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))
  const begin = (data: string) =>
    startControlPlane({ folder: data, kubeconfig: join(folder, 'none') }).catch(({ message }: Error) => message)
  const modeOf = async (path: string) => ((await stat(path)).mode & 0o7777).toString(8)

  it('keeps its mode if it exists', async () => {
    const shared = join(folder, 'shared')
    await mkdir(shared)
    await chmod(shared, 0o1777)
    expect(await begin(shared)).to.be.a('string')
    expect(await modeOf(shared)).to.equal('1777')
  })

  it('has the mode 700 if it is created', async () => {
    expect(await begin(join(folder, 'new'))).to.be.a('string')
    expect(await modeOf(join(folder, 'new'))).to.equal('700')
  })
})
