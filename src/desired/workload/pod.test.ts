import { expect } from 'chai'
import { literal } from './pod.ts'

/** What a process gets of a text: the expansion of Kubernetes, third_party/forked/golang/expansion, byte by byte. */
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

describe('a text for a process', () => {
  const cases: [string, string, string][] = [
    ['without a dollar stays as it is', 'plain', 'plain'],
    ['with a variable of the shell stays as it is', 'echo $HOME $', 'echo $HOME $'],
    ['keeps a reference to a variable', '$(TEAM)', '$$(TEAM)'],
    ['keeps two dollars, such as in a password', 'pa$$word', 'pa$$$$word'],
    ['keeps an escaped reference', '$$(TEAM)', '$$$$(TEAM)'],
    ['keeps a character beyond ASCII', '$ü', '$$ü'],
  ]
  for (const [title, text, escaped] of cases) {
    it(title, () => {
      expect(literal(text)).to.equal(escaped)
      expect(expanded(escaped, { TEAM: 'search' })).to.equal(text)
    })
  }

  it('arrives as it was written, whatever it is', () => {
    const parts = ['$', '(', ')', 'A', 'ü', '€', ' ', '{']
    for (let number = 0; number < 8 ** 5; number += 1) {
      const text = [...number.toString(8).padStart(5, '0')].map((digit) => parts[Number(digit)]).join('')
      const arrived = expanded(literal(text), { A: 'other', '': 'none' })
      if (arrived !== text) expect.fail(`${text} became ${arrived}`)
    }
  })
})
