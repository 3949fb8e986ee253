import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { forgetData, refuseOtherPods } from './state.ts'

describe('forgetData and refuseOtherPods', () => {
  it('remove all data of the platform and nothing else', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'freehold-data-'))
    try {
      for (const name of ['etcd', 'githost', 'mails', 'objectstore', 'registry', 'photos']) {
        await mkdir(join(folder, name))
        await writeFile(join(folder, name, 'content'), 'x')
      }
      await forgetData(folder)
      expect(await readdir(folder)).to.deep.equal(['photos'])
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })

  const cases: [sentence: string, there: string[], isReal: boolean, refusal: RegExp | undefined][] = [
    ['accept real pods for an empty folder', [], true, undefined],
    ['accept simulated pods for data of simulated pods', ['etcd'], false, undefined],
    ['accept real pods for data of real pods', ['etcd', 'node'], true, undefined],
    ['reject real pods for data of simulated pods', ['etcd'], true, /without --node: .* --data.* --fresh/],
    ['reject simulated pods for data of real pods', ['etcd', 'node'], false, /with --node: .* --data.* --fresh/],
  ]
  for (const [sentence, there, isReal, refusal] of cases)
    it(sentence, async () => {
      const folder = await mkdtemp(join(tmpdir(), 'freehold-data-'))
      try {
        for (const name of there) await mkdir(join(folder, name))
        const refused = await refuseOtherPods(folder, isReal).catch(({ message }: Error) => message)
        if (refusal === undefined) expect(refused).to.equal(undefined)
        else expect(refused).to.match(refusal)
      } finally {
        await rm(folder, { recursive: true, force: true })
      }
    })
})
