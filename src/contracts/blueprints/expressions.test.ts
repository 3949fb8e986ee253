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
  return reference.root === 'builtIn' ? `<${reference.name}>` : `<${reference.component}.${reference.field}>`
}

describe('parseTemplateText and renderTemplateText', () => {
  const cases: [sentence: string, text: string, value: unknown][] = [
    ['keep text without expressions', 'plain $ text', 'plain $ text'],
    ['replace an expression by its value', `a-\${parameters.size}-b`, 'a-large-b'],
    ['keep the type of a single expression', `\${parameters.count}`, 3],
    ['convert a number within text', `n=\${parameters.count}`, 'n=3'],
    ['replace a missing value by nothing', `[\${parameters.none}]`, '[]'],
    ['unescape two dollar signs before a brace', `$\${parameters.size}`, `\${parameters.size}`],
    ['ignore spaces within the braces', `\${ deploy.name }!`, '<deploy.name>!'],
    ['resolve a field of a component', `\${components.db.host}:1`, '<db.host>:1'],
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
    it(`reject ${text}`, () => expect(() => parseTemplateText(text)).to.throw(ExpressionError))
})

describe('parseCondition and isMet', () => {
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
    it(`evaluate ${text} to ${isTrue}`, () => expect(isMet(parseCondition(text), lookUp)).to.equal(isTrue))

  const refused: [why: string, text: string][] = [
    ['is empty', ' '],
    ['lacks an operand', '1 =='],
    ['lacks a closing parenthesis', '(true'],
    ['has a second expression', 'true false'],
    ['chains comparisons', '1 == 1 == 1'],
    ['calls a function', 'size(x) == 1'],
    ['is a bare word', 'large'],
    ['is nested 200 levels deep', `${'('.repeat(200)}true${')'.repeat(200)}`],
    ['has more than 2,000 characters', `true${' '.repeat(2000)}`],
  ]
  for (const [why, text] of refused)
    it(`reject a condition that ${why}`, () => expect(() => parseCondition(text)).to.throw(ExpressionError))

  it('reject a string as a condition', () => {
    expect(() => isMet(parseCondition(`\${parameters.size}`), lookUp)).to.throw(ExpressionError)
  })

  it('throw only ExpressionError for 3,000 random texts', () => {
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
