import { expect } from 'chai'
import { mutate } from './mutate.ts'

const changesOf = (text: string) => mutate('a.ts', text).mutants.map(({ from, to }) => `${from} -> ${to}`)

/** What `export const it` is while one mutant is active; 0 is none. */
async function itOf(text: string, active: number): Promise<unknown> {
  const { code } = mutate('a.ts', text)
  Object.assign(globalThis, { __mutant: (id: number) => id === active })
  const module = await import(`data:text/javascript,${encodeURIComponent(code)}#${active}`)
  return module.it
}

describe('mutate', () => {
  const cases: Record<string, [string, string[]]> = {
    'leaves out either side of a condition': ['f = a && b', ['a && b -> a', 'a && b -> b', 'f = a && b -> ']],
    'decides a comparison, and moves its bound': [
      'x = (a < b)',
      ['a < b -> a <= b', 'a < b -> true', 'a < b -> false', 'x = (a < b) -> '],
    ],
    'leaves out properties, but no text for people': [
      'const a = { b, description: "c", "d-e": true }',
      ['b -> ', 'true -> false', '"d-e": true -> '],
    ],
    'leaves out elements': ['const a = [b, ...c]', ['b -> ', '...c -> ']],
    'empties words, and leaves sentences alone': ["const a = b('c', 'd e')", ["'c' -> ''"]],
    'leaves out parts of a name': [`const a = \`x-\${b}\``, [`\`x-\${b}\` -> \`x-\``]],
    'opens a pattern at both ends': ['const a = /^b$/i', ['/^b$/i -> /b$/i', '/^b$/i -> /^b/i', '/^b$/i -> /^b$/']],
    'leaves out statements, but no log': ['check(a)\nlog.info(a)\nsuper(a)', ['check(a) -> ']],
    'leaves out bounds': ['const a = z.max(5)', ['5 -> 6', 'z.max(5) -> z']],
    'knows no method of Object.prototype': ["const a = b.toString('c')", ["'c' -> ''"]],
    'leaves types and imports alone': ["import a from 'b'\ntype C = 'd'\nconst e = f as 'g'", []],
    'does not open a chain': ['const a = b?.filter(c).length', []],
  }
  for (const [sentence, [text, changes]] of Object.entries(cases))
    it(sentence, () => expect(changesOf(text)).to.deep.equal(changes))

  it('names the line', () =>
    expect(mutate('a.ts', 'a\n\nf(1)').mutants.map(({ line }) => line)).to.deep.equal([1, 3, 3]))

  it('leaves an else with its if', async () => {
    const text = 'export let it = 0; if (Math.abs(0)) it = 1; else it = 2'
    expect(await itOf(text, 0)).to.equal(2)
  })

  it('runs as written without a mutant, and with the change of the active one', async () => {
    const text = "export const it = ['a', 'b'].filter((each) => each !== 'a')"
    const changes = changesOf(text)
    expect(await itOf(text, 0)).to.deep.equal(['b'])
    expect(await itOf(text, changes.indexOf("each !== 'a' -> true") + 1)).to.deep.equal(['a', 'b'])
    expect(await itOf(text, changes.indexOf("'b' -> ") + 1)).to.deep.equal([])
  })
})
