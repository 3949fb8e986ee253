import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect } from 'chai'
import { admissionPolicies } from '../../scripts/generate/policies.ts'
import { reservedNames } from '../../src/api/index.ts'
import { ERROR_STATUS, type ErrorCode } from '../../src/core/errors.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { ENFORCEMENT_POINTS } from '../../src/core/refusals.ts'
import { KINDS } from '../../src/crds/index.ts'
import { gateKey, REFUSED_WRITES } from '../cases/refusedWrites.ts'

type Validation = { message?: string; messageExpression?: string }
type Policy = KubeObject & {
  spec: { matchConstraints?: { resourceRules: { resources: string[] }[] }; validations?: Validation[] }
}
const policies = admissionPolicies(KINDS, reservedNames()) as Policy[]
const rulesOf = (code: string) => KINDS.filter(({ rules }) => rules.some((rule) => rule.code === code))

const SOURCES = resolve(import.meta.dirname, '../../src')
/** The first sentence of a refusal and its first field, if both are literal. */
const WRITTEN_OUT = /badRequest\(\s*(['`])((?:(?!\1).)*)\1,\s*\[\s*\{\s*field: '([A-Za-z]+)'/gs

describe('messages of refusals', () => {
  const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
    .map((path) => ({ path, text: readFileSync(join(SOURCES, path), 'utf8') }))

  it('are built in core/errors.ts only', () => {
    const others = files.filter(({ path, text }) => path !== join('core', 'errors.ts') && text.includes('The field "'))
    expect(others.map(({ path }) => path)).to.deep.equal([])
  })

  it('contain the name of their field if they are literal', () => {
    const found = files.flatMap(({ path, text }) =>
      [...text.matchAll(WRITTEN_OUT)].map(([, , sentence = '', field = '']) => ({ path, sentence, field })),
    )
    expect(found).to.have.length.above(1)
    expect(found.filter(({ sentence, field }) => !sentence.includes(field))).to.deep.equal([])
  })
})

describe('messages of admission policies', () => {
  const validations = policies.flatMap(({ spec }) => spec.validations ?? [])
  const textOf = ({ message, messageExpression }: Validation) => messageExpression ?? message ?? ''

  it('exist for every validation', () => {
    expect(validations).to.have.length.above(60)
    expect(validations.filter((validation) => textOf(validation) === '')).to.deep.equal([])
  })

  it('name the command that asks for a missing verb', () => {
    const ofVerbs = validations.map(textOf).filter((text) => text.includes('holder of the verb'))
    expect(ofVerbs).to.have.length.above(7)
    expect(ofVerbs.filter((text) => !/kubectl auth can-i|may request a rollback/.test(text))).to.deep.equal([])
  })

  it('have the article of their noun', () => {
    const wrong = validations.flatMap(({ message = '', messageExpression = '' }) =>
      [message, messageExpression].filter((text) => /\ba [AEIO]/.test(text)),
    )
    expect(wrong).to.deep.equal([])
  })
})

/** Phases and codes of the webhook are tested with the code that they come from. */
describe('ENFORCEMENT_POINTS', () => {
  for (const code of Object.keys(ERROR_STATUS) as ErrorCode[]) {
    it(`names what enforces ${code} outside of REST`, () => {
      expect(ENFORCEMENT_POINTS[code]).to.not.have.length(0)
      if (ENFORCEMENT_POINTS[code].some(({ by }) => by === 'rule')) expect(rulesOf(code)).to.not.have.length(0)
      const isNone = ENFORCEMENT_POINTS[code].some(({ by }) => by === 'none')
      if (isNone) expect([ENFORCEMENT_POINTS[code].length, rulesOf(code).length]).to.deep.equal([1, 0])
    })
  }

  it('names policies that exist and cover the kind', () => {
    for (const gate of Object.values(ENFORCEMENT_POINTS).flat()) {
      if (gate.by !== 'policy') continue
      const found = policies.find(
        ({ kind, metadata }) => kind === 'ValidatingAdmissionPolicy' && metadata.name === gate.name,
      )
      const resource = KINDS.find(({ kind }) => kind === gate.kind)?.resource.plural
      const covered = found?.spec.matchConstraints?.resourceRules.flatMap(({ resources }) => resources)
      expect(covered, `${gate.name} of ${gate.kind}`).to.include(resource)
    }
  })

  it('has a rejected write for each policy, schema and code', () => {
    const wanted = Object.entries(ENFORCEMENT_POINTS).flatMap(([code, gates]) =>
      gates.flatMap((gate) => gateKey(code as ErrorCode, gate) ?? []),
    )
    expect(Object.keys(REFUSED_WRITES).sort()).to.deep.equal([...new Set(wanted)].sort())
  })

  it('has a REST request for each rejected write and code, or says where it is tested', () => {
    const wanted = Object.entries(ENFORCEMENT_POINTS).flatMap(([code, gates]) =>
      gates.flatMap((gate) => {
        const key = gateKey(code as ErrorCode, gate)
        return key === undefined ? [] : [`${key}: ${code}`]
      }),
    )
    const told = Object.entries(REFUSED_WRITES).flatMap(([key, { codes, elsewhere }]) =>
      [...codes, ...Object.keys(elsewhere)].map((code) => `${key}: ${code}`),
    )
    expect(told.sort()).to.deep.equal(wanted.sort())
  })
})
