import { expect } from 'chai'
import { RULE_CASES } from '../../../test/cases/ruleCases.ts'
import { type FieldError, PlatformError, refusalSentence, withRenamedFields } from '../../core/errors.ts'
import { KINDS } from '../../crds/index.ts'
import { errorAnswer, toPlatformError } from '../http/problem.ts'
import { checkSpec } from './specs.ts'

const place = { module: 'm', form: 'platform' as const, correlationId: 'c', traceId: 't' }

type Shown = { error: string; errors?: FieldError[] }
const shown = (error: unknown) => errorAnswer(toPlatformError(error), place).body as Shown

/** A reason must not begin with the name of its field, unless it is about more than that field. */
function expectGoesOn({ field, message }: FieldError): void {
  const name = field.split('.').at(-1) ?? ''
  if (name !== '') expect(message).to.not.match(new RegExp(`^${name} (?!and |or |of |in |with |names )`))
}

describe('the reason of a rejected field', () => {
  for (const { kind, name, next, previous } of RULE_CASES.filter((each) => each.refused.length > 0)) {
    it(`continues after the name of the field: ${name}`, () => {
      let thrown: unknown
      try {
        checkSpec(kind, next, previous)
      } catch (error) {
        thrown = error
      }
      expect(thrown).to.be.instanceOf(PlatformError)
      const { error, errors = [] } = shown(thrown)
      expect(error).to.not.match(/^The field "([^"]+)" \1 (?!and |or |of |in |with |names )/)
      for (const each of errors) expectGoesOn(each)
    })
  }

  for (const kind of KINDS) {
    for (const { field, message } of kind.rules) {
      it(`stays a sentence when the field is renamed: ${kind.kind}: ${message}`, () => {
        const sentence = refusalSentence({ field, message })
        const given = new PlatformError('BAD_REQUEST', sentence, { errors: [{ field, message }] })
        const { errors = [] } = shown(given)
        expect(errors).to.not.be.empty
        for (const each of errors) expect(refusalSentence(each)).to.equal(sentence)
        for (const each of errors) expectGoesOn(each)
        const other = shown(withRenamedFields(given, () => 'other'))
        expect(other.error).to.equal(sentence.replace(`The field "${field}"`, 'The field "other"'))
      })
    }
  }
})
