import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { COUNTED, MANY, WIRED } from '../faults/runs.ts'

const read = (path: string) => readFileSync(join(import.meta.dirname, '../..', path), 'utf8')

/** The name of a function: `leader lost` is `leaderLost`. */
const functionOf = (name: string) => name.replaceAll(/[ -](\w)/g, (_, letter: string) => letter.toUpperCase())

describe('docs/testing.md, scenarios of `npm run faults` only', () => {
  const [, section = ''] = read('docs/testing.md').split('### What only `npm run faults` tests')
  const told = [...(section.split('\n## ')[0] ?? '').matchAll(/^\| `([^`]+)` \|/gm)].map(([, name]) => name)

  it('lists exactly the scenarios that the end-to-end test of faults does not run', () => {
    const played = read('test/e2e/faults.test.ts')
    const names = Object.keys({ ...MANY, ...WIRED, ...COUNTED })
    expect(names.filter((name) => !played.includes(`${functionOf(name)}(scene`))).to.have.members(told)
    expect(told).to.include('races').and.not.to.include('away')
  })
})
