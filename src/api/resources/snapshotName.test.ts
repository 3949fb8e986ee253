import { expect } from 'chai'
import { snapshotName } from './snapshotName.ts'

const NOW = Date.parse('2026-01-02T03:04:05.678Z')

const cases: [sentence: string, taken: string[], name: string][] = [
  ['contains the time', [], 'manual-20260102030405'],
  ['appends a number if the name is taken', ['manual-20260102030405'], 'manual-20260102030405-2'],
  [
    'appends the first free number',
    ['manual-20260102030405', 'manual-20260102030405-2', 'other'],
    'manual-20260102030405-3',
  ],
]

describe('snapshotName', () => {
  for (const [sentence, taken, name] of cases) {
    it(sentence, () => {
      expect(snapshotName(NOW, taken)).to.equal(name)
    })
  }
})
