import { expect } from 'chai'
import { snapshotName } from './snapshotName.ts'

const NOW = Date.parse('2026-01-02T03:04:05.678Z')

const cases: [sentence: string, taken: string[], name: string][] = [
  ['of the time', [], 'manual-20260102030405'],
  ['with a number, where that is taken', ['manual-20260102030405'], 'manual-20260102030405-2'],
  ['that is free', ['manual-20260102030405', 'manual-20260102030405-2', 'other'], 'manual-20260102030405-3'],
]

describe('a snapshot that nobody names gets a name', () => {
  for (const [sentence, taken, name] of cases) {
    it(sentence, () => {
      expect(snapshotName(NOW, taken)).to.equal(name)
    })
  }
})
