import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'

const linesOf = (name: string) => readFileSync(join(import.meta.dirname, '../..', name), 'utf8').split('\n')

describe('what is sent to build the image', () => {
  const rules = linesOf('.dockerignore').filter((line) => line !== '' && !line.startsWith('#'))
  const admitted = rules.filter((line) => line.startsWith('!')).map((line) => line.slice(1))

  it('is nothing at first, so that keys, history and caches stay on the machine', () => {
    expect(rules[0]).to.equal('*')
  })

  it('is each path that the Containerfile copies from there, and no other', () => {
    const copied = linesOf('Containerfile')
      .filter((line) => line.startsWith('COPY ') && !line.includes('--from='))
      .flatMap((line) => line.split(/\s+/).slice(1, -1))
    expect([...new Set(copied)].sort()).to.deep.equal(admitted.sort())
  })
})
