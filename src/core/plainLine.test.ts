import { expect } from 'chai'
import { plainLine } from './plainLine.ts'

describe('a line of what another system said', () => {
  const cases: [what: string, text: string, shown: string][] = [
    ['is as it was', 'v1.34.1+k3s1', 'v1.34.1+k3s1'],
    ['moves no cursor and starts no line', 'a\u001b[2Jb\r\nc', 'a [2Jb c'],
    ['turns no direction', 'a\u202egnp', 'a gnp'],
    ['has an end', 'x'.repeat(1_000), 'x'.repeat(20)],
    ['is not cut in a character', `${'x'.repeat(19)}😀`, 'x'.repeat(19)],
  ]
  for (const [what, text, shown] of cases) it(what, () => expect(plainLine(text, 20)).to.equal(shown))
})
