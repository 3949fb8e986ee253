import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { COUNTED, MANY, WIRED } from '../faults/runs.ts'

const read = (path: string) => readFileSync(join(import.meta.dirname, '../..', path), 'utf8')

/** `leader lost` is the function `leaderLost`. */
const functionOf = (name: string) => name.replaceAll(/[ -](\w)/g, (_, letter: string) => letter.toUpperCase())

describe('what only `npm run faults` plays', () => {
  const [, section = ''] = read('docs/testing.md').split('### What only `npm run faults` tests')
  const told = [...(section.split('\n## ')[0] ?? '').matchAll(/^\| `([^`]+)` \|/gm)].map(([, name]) => name)

  it('is what the page about tests names, each with what must hold', () => {
    const played = read('test/e2e/faults.test.ts')
    const names = Object.keys({ ...MANY, ...WIRED, ...COUNTED })
    expect(names.filter((name) => !played.includes(`${functionOf(name)}(scene`))).to.have.members(told)
    expect(told).to.include('races').and.not.to.include('away')
  })
})
