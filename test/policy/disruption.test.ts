import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'

const ROOT = join(import.meta.dirname, '../..')

describe('PodDisruptionBudgets', () => {
  const folders = ['src/desired', 'src/controllers', 'deploy']
  const files = folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .map((name) => join(folder, name))
      .filter((name) => /\.(ts|yaml)$/.test(name) && !name.endsWith('.test.ts')),
  )
  /** Files with PodDisruptionBudgets. */
  const made = files.flatMap((file) => {
    const text = readFileSync(join(ROOT, file), 'utf8')
    const count = text.match(/kind: '?PodDisruptionBudget'?(,|\n)/g)?.length ?? 0
    const allowing = text.match(/unhealthyPodEvictionPolicy: '?AlwaysAllow/g)?.length ?? 0
    return count === 0 ? [] : [{ file, count, allowing }]
  })

  it('are found in more than three files', () => {
    expect(made.map(({ file }) => file)).to.include('src/desired/workload/network.ts')
    expect(made.length).to.be.greaterThan(3)
  })

  for (const { file, count, allowing } of made) {
    it(`allow the eviction of unhealthy pods: ${file}`, () => {
      expect(allowing).to.equal(count)
    })

    it(`have no minAvailable, which would block a drain with one replica: ${file}`, () => {
      expect(readFileSync(join(ROOT, file), 'utf8')).to.not.match(/minAvailable: '?\d/)
    })
  }
})
