import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { lastStageOf } from '../../scripts/node/containerfile.ts'

const root = join(import.meta.dirname, '../..')
const linesOf = (name: string) => readFileSync(join(root, name), 'utf8').split('\n')

describe('.dockerignore', () => {
  const rules = linesOf('.dockerignore').filter((line) => line !== '' && !line.startsWith('#'))
  const admitted = rules.filter((line) => line.startsWith('!')).map((line) => line.slice(1))

  it('excludes everything by default', () => {
    expect(rules[0]).to.equal('*')
  })

  it('admits exactly the paths that the Containerfile copies', () => {
    const copied = linesOf('Containerfile')
      .filter((line) => line.startsWith('COPY ') && !line.includes('--from='))
      .flatMap((line) => line.split(/\s+/).slice(1, -1))
    expect([...new Set(copied)].sort()).to.deep.equal(admitted.sort())
  })

  it('excludes all tests, and nothing else that is copied', () => {
    const left = rules.filter((line) => !/^[*!]/.test(line))
    const excluded = new Set(left.flatMap((rule) => globSync(rule, { cwd: root })))
    const { copied } = lastStageOf(linesOf('Containerfile').join('\n'))
    const files = copied.flatMap((path) => (admitted.includes(path) ? globSync(`${path}/**/*.*`, { cwd: root }) : []))
    expect(files.filter((file) => /\.test\.\w+$/.test(file) && !excluded.has(file))).to.deep.equal([])
    expect([...excluded].filter((file) => !file.endsWith('.test.ts'))).to.deep.equal([])
    expect(files).to.include.members(['src/main.ts', 'docs/areas/vector.md'])
  })
})

describe('node_modules of the image', () => {
  it('come from a stage that installs without devDependencies', () => {
    const text = linesOf('Containerfile').join('\n')
    const [, stage] = /^COPY --from=(\w+) \/app\/node_modules node_modules$/m.exec(text) ?? []
    const built = text
      .split(/^(?=FROM )/m)
      .find((each) => each.startsWith('FROM ') && / AS (\w+)/.exec(each)?.[1] === stage)
    expect(built).to.match(/^RUN npm ci --omit=dev /m)
  })
})
