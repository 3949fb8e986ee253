import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'

const ROOT = join(import.meta.dirname, '../..')
const SOURCES = globSync('src/**/*.ts', { cwd: ROOT }).filter((path) => !path.endsWith('.test.ts'))
/** The options of a call that writes a status. */
const OPTIONS = /\{[^{}]*subresource: 'status'[^{}]*\}/g

describe('status writes', () => {
  const writes = SOURCES.flatMap((path) =>
    Array.from(readFileSync(join(ROOT, path), 'utf8').matchAll(OPTIONS), ([options]) => ({ path, options })),
  )

  it('have the uid of their object as a precondition', () => {
    expect(writes.length).to.be.at.least(9)
    expect(writes.filter(({ options }) => !/\buid\b/.test(options))).to.deep.equal([])
  })
})
