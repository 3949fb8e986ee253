import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import { stackInSources } from './stack.ts'

describe('the stack of an error in a bundle', () => {
  let folder: string
  const placeIn = (name: string) =>
    `Error: no\n    at go (${pathToFileURL(join(folder, name))}:1:3)\n    at node:fs:1:2`

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'freehold-stack-'))
    // The one segment of the first line says: line 3, column 5 of the source.
    writeFileSync(
      join(folder, 'mapped.mjs.map'),
      JSON.stringify({ version: 3, sources: ['../src/go.ts'], names: [], mappings: 'AAEI' }),
    )
    writeFileSync(join(folder, 'broken.mjs.map'), '{')
    for (const name of ['mapped.mjs', 'broken.mjs', 'absent.mjs']) writeFileSync(join(folder, name), '')
  })
  after(() => rmSync(folder, { recursive: true }))

  it('names places in the sources', () => {
    expect(stackInSources(placeIn('mapped.mjs'), folder)).to.equal(
      'Error: no\n    at go (src/go.ts:3:7)\n    at node:fs:1:2',
    )
  })

  for (const name of ['absent.mjs', 'broken.mjs'] as const) {
    it(`stays as it is where the map is ${name.replace('.mjs', '')}`, () => {
      expect(stackInSources(placeIn(name), folder)).to.equal(placeIn(name))
    })
  }

  it('stays as it is where it names a file of another folder', () => {
    expect(stackInSources(placeIn('mapped.mjs'), join(folder, 'other'))).to.equal(placeIn('mapped.mjs'))
  })

  it('stays as it is where a message holds what is no address', () => {
    const stack = 'Error: file:///%zz.mjs:1:1 and file://host/x.mjs:1:1'
    expect(stackInSources(stack, folder)).to.equal(stack)
  })
})
