import { globSync, readFileSync } from 'node:fs'
import { expect } from 'chai'
import { neededBy } from '../node/prepare.ts'

const NODE_TESTS = globSync('test/node/*.test.ts')
const TESTS = globSync(['src/**/*.test.ts', 'scripts/**/*.test.ts', 'test/**/*.ts'])

describe('tests', () => {
  it('have no timeouts of their own', () => {
    expect(TESTS.length).to.be.greaterThan(300)
    // In a test or after it.
    const limited = TESTS.filter((file) => /(\bthis|\}\))\.(timeout|slow)\(/.test(readFileSync(file, 'utf8')))
    expect(limited).to.deep.equal([])
  })

  it('let kubectl wait for minutes', () => {
    const hasty = TESTS.filter((file) => /--timeout=\d{1,2}s/.test(readFileSync(file, 'utf8')))
    expect(hasty).to.deep.equal([])
  })

  it('on a node declare everything that they install or push', () => {
    expect(NODE_TESTS.length).to.be.greaterThan(10)
    for (const file of NODE_TESTS) {
      const text = readFileSync(file, 'utf8')
      const called = text.match(/\b(?:install|push)[A-Z]\w*(?=\()/g) ?? []
      // The caller names what these two push.
      const own = called.filter((name) => name !== 'pushInto' && name !== 'pushImages')
      expect(neededBy(text), file).to.include.members(own)
      if (called.length > own.length) expect(neededBy(text), file).to.not.be.empty
    }
  })
})
