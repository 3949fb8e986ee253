import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { MIN_FREE_BYTES, prepareDataFolder } from './dataFolder.ts'

describe('the data folder of up', () => {
  let parent: string
  beforeEach(async () => {
    parent = await mkdtemp(join(tmpdir(), 'freehold-data-'))
  })
  afterEach(() => rm(parent, { recursive: true }))

  const refusal = (folder: string, free: number) =>
    prepareDataFolder(folder, async () => free).then(
      () => undefined,
      (error: Error) => error.message,
    )

  it('is created for its owner only', async () => {
    expect(await refusal(join(parent, 'a/b'), MIN_FREE_BYTES)).to.equal(undefined)
    expect((await stat(join(parent, 'a/b'))).mode & 0o777).to.equal(0o700)
  })

  it('is refused if it cannot be written', async () => {
    expect(await refusal('/dev/null/data', MIN_FREE_BYTES)).to.match(
      /^The data folder .* cannot be written \(ENOTDIR\).*--data/,
    )
  })

  it('is refused if its disk is nearly full, because etcd would end with a stack trace', async () => {
    expect(await refusal(join(parent, 'data'), MIN_FREE_BYTES - 1)).to.match(/has 511 MiB left.*--data/)
  })
})
