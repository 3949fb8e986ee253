import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'

const ROOT = join(import.meta.dirname, '../..')

describe('disruption budgets', () => {
  const folders = ['src/desired', 'src/controllers', 'deploy']
  const files = folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .map((name) => join(folder, name))
      .filter((name) => /\.(ts|yaml)$/.test(name) && !name.endsWith('.test.ts')),
  )
  /** Files that create one, or declare one. */
  const made = files.flatMap((file) => {
    const text = readFileSync(join(ROOT, file), 'utf8')
    const count = text.match(/kind: '?PodDisruptionBudget'?(,|\n)/g)?.length ?? 0
    const allowing = text.match(/unhealthyPodEvictionPolicy: '?AlwaysAllow/g)?.length ?? 0
    return count === 0 ? [] : [{ file, count, allowing }]
  })

  it('are all found', () => {
    expect(made.map(({ file }) => file)).to.include('src/desired/workload/network.ts')
    expect(made.length).to.be.greaterThan(3)
  })

  for (const { file, count, allowing } of made) {
    it(`let a node be drained of pods that do not serve: ${file}`, () => {
      expect(allowing).to.equal(count)
    })

    it(`let a node be drained where an operator runs one copy: ${file}`, () => {
      expect(readFileSync(join(ROOT, file), 'utf8')).to.not.match(/minAvailable: '?\d/)
    })
  }
})
