import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import { stackInSources } from './stack.ts'

describe('stackInSources', () => {
  let folder: string
  const placeIn = (name: string) =>
    `Error: no\n    at go (${pathToFileURL(join(folder, name))}:1:3)\n    at node:fs:1:2`

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'freehold-stack-'))
    // The only segment of the first line maps to line 3, column 5 of the source.
    writeFileSync(
      join(folder, 'mapped.mjs.map'),
      JSON.stringify({ version: 3, sources: ['../src/go.ts'], names: [], mappings: 'AAEI' }),
    )
    writeFileSync(join(folder, 'broken.mjs.map'), '{')
    for (const name of ['mapped.mjs', 'broken.mjs', 'absent.mjs']) writeFileSync(join(folder, name), '')
  })
  after(() => rmSync(folder, { recursive: true }))

  it('maps positions to the sources', () => {
    expect(stackInSources(placeIn('mapped.mjs'), folder)).to.equal(
      'Error: no\n    at go (src/go.ts:3:7)\n    at node:fs:1:2',
    )
  })

  for (const name of ['absent.mjs', 'broken.mjs'] as const) {
    it(`keeps the stack if the source map is ${name.replace('.mjs', '')}`, () => {
      expect(stackInSources(placeIn(name), folder)).to.equal(placeIn(name))
    })
  }

  it('keeps the stack of a file in another folder', () => {
    expect(stackInSources(placeIn('mapped.mjs'), join(folder, 'other'))).to.equal(placeIn('mapped.mjs'))
  })

  it('keeps a stack with invalid URLs', () => {
    const stack = 'Error: file:///%zz.mjs:1:1 and file://host/x.mjs:1:1'
    expect(stackInSources(stack, folder)).to.equal(stack)
  })
})
