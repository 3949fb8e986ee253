import { expect } from 'chai'
import { RULE_CASES } from '../../../test/cases/ruleCases.ts'
import { type FieldError, PlatformError, refusalSentence, withRenamedFields } from '../../core/errors.ts'
import { KINDS } from '../../crds/index.ts'
import { errorAnswer, toPlatformError } from '../http/problem.ts'
import { checkSpec } from './specs.ts'

const place = { module: 'm', form: 'platform' as const, correlationId: 'c', traceId: 't' }

type Shown = { error: string; errors?: FieldError[] }
const shown = (error: unknown) => errorAnswer(toPlatformError(error), place).body as Shown

/** What stands beside the name of a field must not begin with it, unless it goes on about more than that field. */
function expectGoesOn({ field, message }: FieldError): void {
  const name = field.split('.').at(-1) ?? ''
  if (name !== '') expect(message).to.not.match(new RegExp(`^${name} (?!and |or |of |in |with |names )`))
}

describe('why a field is refused', () => {
  for (const { kind, name, next, previous } of RULE_CASES.filter((each) => each.refused.length > 0)) {
    it(`goes on after its name: ${name}`, () => {
      let thrown: unknown
      try {
        checkSpec(kind, next, previous)
      } catch (error) {
        thrown = error
      }
      for (const each of shown(thrown).errors ?? []) expectGoesOn(each)
    })
  }

  for (const kind of KINDS) {
    for (const { field, message } of kind.rules) {
      it(`is the same sentence under any name: ${kind.kind}: ${message}`, () => {
        const whole = refusalSentence({ field, message })
        const given = new PlatformError('BAD_REQUEST', whole, { errors: [{ field, message }] })
        const body = shown(given)
        for (const each of body.errors ?? []) expect(refusalSentence(each)).to.equal(whole)
        for (const each of body.errors ?? []) expectGoesOn(each)
        const other = shown(withRenamedFields(given, () => 'other'))
        expect(other.error).to.equal(whole.replace(`The field "${field}"`, 'The field "other"'))
      })
    }
  }
})
