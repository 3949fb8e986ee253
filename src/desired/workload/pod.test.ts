import { expect } from 'chai'
import { literal } from './pod.ts'

/** The expansion that Kubernetes applies to a text, byte by byte as in third_party/forked/golang/expansion. */
function expanded(text: string, variables: Readonly<Record<string, string>>): string {
  const bytes = Buffer.from(text).toString('latin1')
  let out = ''
  for (let at = 0; at < bytes.length; at += 1) {
    const next = bytes[at + 1]
    if (bytes[at] !== '$' || next === undefined) {
      out += bytes[at]
      continue
    }
    const end = next === '(' ? bytes.indexOf(')', at) : -1
    if (end > 0) {
      const name = bytes.slice(at + 2, end)
      out += variables[name] ?? `$(${name})`
      at = end
      continue
    }
    // A byte beyond ASCII becomes a character of its own.
    out += next === '$' ? '$' : `$${Buffer.from(next, 'utf8').toString('latin1')}`
    at += 1
  }
  return Buffer.from(out, 'latin1').toString('utf8')
}

describe('literal', () => {
  const cases: [string, string, string][] = [
    ['keeps a text without a dollar', 'plain', 'plain'],
    ['keeps a shell variable', 'echo $HOME $', 'echo $HOME $'],
    ['escapes a reference', '$(TEAM)', '$$(TEAM)'],
    ['escapes two dollars, as in a password', 'pa$$word', 'pa$$$$word'],
    ['escapes an escaped reference', '$$(TEAM)', '$$$$(TEAM)'],
    ['escapes a dollar before a non-ASCII character', '$ü', '$$ü'],
  ]
  for (const [title, text, escaped] of cases) {
    it(title, () => {
      expect(literal(text)).to.equal(escaped)
      expect(expanded(escaped, { TEAM: 'search' })).to.equal(text)
    })
  }

  it('survives the expansion in every text of 5 parts', () => {
    const parts = ['$', '(', ')', 'A', 'ü', '€', ' ', '{']
    for (let number = 0; number < 8 ** 5; number += 1) {
      const text = [...number.toString(8).padStart(5, '0')].map((digit) => parts[Number(digit)]).join('')
      const arrived = expanded(literal(text), { A: 'other', '': 'none' })
      if (arrived !== text) expect.fail(`${text} became ${arrived}`)
    }
  })
})
