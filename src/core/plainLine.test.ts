import { expect } from 'chai'
import { plainLine } from './plainLine.ts'

describe('plainLine', () => {
  const cases: [what: string, text: string, shown: string][] = [
    ['returns plain text unchanged', 'v1.34.1+k3s1', 'v1.34.1+k3s1'],
    ['replaces escape sequences and line breaks', 'a\u001b[2Jb\r\nc', 'a [2Jb c'],
    ['replaces bidirectional control characters', 'a\u202egnp', 'a gnp'],
    ['truncates text', 'x'.repeat(1_000), 'x'.repeat(20)],
    ['does not truncate within a character', `${'x'.repeat(19)}😀`, 'x'.repeat(19)],
  ]
  for (const [what, text, shown] of cases) it(what, () => expect(plainLine(text, 20)).to.equal(shown))
})
