import { expect } from 'chai'
import { SeededRandom } from '../../../test/make/random.ts'
import {
  ExpressionError,
  isMet,
  parseCondition,
  parseTemplateText,
  type Reference,
  renderTemplateText,
} from './expressions.ts'

const VALUES: Readonly<Record<string, string | number | boolean>> = {
  size: 'large',
  count: 3,
  isPublic: true,
  empty: '',
}

function lookUp(reference: Reference) {
  if (reference.root === 'parameters') return VALUES[reference.name] ?? null
  return reference.root === 'place' ? `<${reference.name}>` : `<${reference.component}.${reference.field}>`
}

describe('texts of a template', () => {
  const cases: [sentence: string, text: string, value: unknown][] = [
    ['a text without expressions stays as it is', 'plain $ text', 'plain $ text'],
    ['an expression gives way to its value', `a-\${parameters.size}-b`, 'a-large-b'],
    ['a text of one expression alone keeps the type of the value', `\${parameters.count}`, 3],
    ['within a text a number is written out', `n=\${parameters.count}`, 'n=3'],
    ['what has no value is empty within a text', `[\${parameters.none}]`, '[]'],
    ['two dollars before a brace are the characters themselves', `$\${parameters.size}`, `\${parameters.size}`],
    ['spaces within the braces do not matter', `\${ deploy.name }!`, '<deploy.name>!'],
    ['a component is named by its name and a field', `\${components.db.host}:1`, '<db.host>:1'],
  ]
  for (const [sentence, text, value] of cases)
    it(sentence, () => expect(renderTemplateText(parseTemplateText(text), lookUp, 100)).to.equal(value))

  for (const text of [
    `\${`,
    `a \${parameters.x`,
    `\${}`,
    `\${x}`,
    `\${parameters}`,
    `\${parameters.a.b}`,
    `\${components.a}`,
  ])
    it(`refuses ${text}`, () => expect(() => parseTemplateText(text)).to.throw(ExpressionError))
})

describe('conditions of a template', () => {
  const cases: [text: string, isTrue: boolean][] = [
    [`\${parameters.size} == 'large'`, true],
    [`\${parameters.size} != "large"`, false],
    [`\${parameters.isPublic}`, true],
    [`!\${parameters.isPublic}`, false],
    [`\${parameters.count} == 3 && !(\${parameters.size} == 'small')`, true],
    [`false || \${parameters.none} == null`, true],
    [`true || false && false`, true],
    [`(true || false) && false`, false],
    [`\${parameters.count} == '3'`, false],
  ]
  for (const [text, isTrue] of cases)
    it(`${text} is ${isTrue}`, () => expect(isMet(parseCondition(text), lookUp)).to.equal(isTrue))

  const refused: [why: string, text: string][] = [
    ['is empty', ' '],
    ['compares with nothing', '1 =='],
    ['does not close', '(true'],
    ['continues after its end', 'true false'],
    ['compares twice', '1 == 1 == 1'],
    ['calls a function', 'size(x) == 1'],
    ['is a bare word', 'large'],
    ['nests very deeply', `${'('.repeat(200)}true${')'.repeat(200)}`],
    ['is very long', `true${' '.repeat(2000)}`],
  ]
  for (const [why, text] of refused)
    it(`refuses one that ${why}`, () => expect(() => parseCondition(text)).to.throw(ExpressionError))

  it('refuses to take a text for true or false', () => {
    expect(() => isMet(parseCondition(`\${parameters.size}`), lookUp)).to.throw(ExpressionError)
  })

  it('whatever it reads, it answers or refuses, and never throws anything else', () => {
    const random = new SeededRandom(20_261_125)
    const pieces = [
      '${',
      '}',
      '$',
      'parameters.',
      'components.',
      'a',
      '.',
      '==',
      '!=',
      '&&',
      '||',
      '!',
      '(',
      ')',
      "'",
      '"',
      ' ',
      '1',
      'true',
      '\\',
      '\n',
    ]
    for (let round = 0; round < 3_000; round += 1) {
      const text = Array.from({ length: random.below(40) }, () => pieces[random.below(pieces.length)]).join('')
      for (const read of [() => parseTemplateText(text), () => isMet(parseCondition(text), lookUp)]) {
        try {
          read()
        } catch (error) {
          expect(error, text).to.be.instanceOf(ExpressionError)
        }
      }
    }
  })
})
