import { expect } from 'chai'
import { type FieldError, PlatformError, refusalSentence, refusedFields, withRenamedFields } from './errors.ts'

describe('refusalSentence and withRenamedFields', () => {
  const cases: [sentence: string, refusal: FieldError, told: string][] = [
    [
      'begin a reason without a subject with the field',
      error('image', 'is required'),
      'The field "image" is required.',
    ],
    ['begin a reason about the body with the body', error('', 'must be an object'), 'The body must be an object.'],
    [
      "replace the field's name at the beginning",
      error('size', 'size may grow but not shrink'),
      'The field "size" may grow but not shrink.',
    ],
    [
      'replace the name of a nested field at the beginning',
      error('volumes.0.size', 'size may grow'),
      'The field "volumes.0.size" may grow.',
    ],
    [
      'quote a reason about two fields',
      error('path', 'path and schedule exclude each other'),
      'The field "path" was refused: path and schedule exclude each other.',
    ],
    [
      'quote a reason with another subject',
      error('deploy', 'only a repository is built'),
      'The field "deploy" was refused: only a repository is built.',
    ],
    ['end with a single full stop', error('', 'it is not JSON.'), 'The body was refused: it is not JSON.'],
  ]
  for (const [sentence, refusal, expected] of cases)
    it(sentence, () => expect(refusalSentence(refusal)).to.equal(expected))

  const toRecord = (field: string) => (field === 'image' ? 'containerImage' : field)
  it("use the caller's names of fields", () => {
    const refusal = withRenamedFields(refusedFields([error('image', 'is required')]), toRecord) as PlatformError
    expect(refusal.message).to.equal('The field "containerImage" is required.')
  })
  it("use the caller's names of fields in rule violations", () => {
    const broken = new PlatformError('RULE_VIOLATION', 'The field "image" is needed.', { field: 'image', value: null })
    const { message, extras } = withRenamedFields(broken, toRecord) as PlatformError
    expect([message, extras.field]).to.deep.equal(['The field "containerImage" is needed.', 'containerImage'])
  })
})

function error(field: string, message: string): FieldError {
  return { field, message }
}
