import { expect } from 'chai'
import { type FieldError, PlatformError, refusalSentence, refusedFields, withRenamedFields } from './errors.ts'

describe('the sentence of a refusal', () => {
  const cases: [sentence: string, refusal: FieldError, told: string][] = [
    ['a reason without a subject is about the field', error('image', 'is required'), 'The field "image" is required.'],
    ['so is one of the body', error('', 'must be an object'), 'The body must be an object.'],
    [
      'a reason that begins with the field goes on about it',
      error('size', 'size may grow but not shrink'),
      'The field "size" may grow but not shrink.',
    ],
    [
      'also where it stands inside of others',
      error('volumes.0.size', 'size may grow'),
      'The field "volumes.0.size" may grow.',
    ],
    [
      'what is about two fields stays whole',
      error('path', 'path and schedule exclude each other'),
      'The field "path" was refused: path and schedule exclude each other.',
    ],
    [
      'what is about something else is told as what it is',
      error('deploy', 'only a repository is built'),
      'The field "deploy" was refused: only a repository is built.',
    ],
    ['a sentence has one end', error('', 'it is not JSON.'), 'The body was refused: it is not JSON.'],
  ]
  for (const [sentence, refusal, told] of cases) it(sentence, () => expect(refusalSentence(refusal)).to.equal(told))

  const toRecord = (field: string) => (field === 'image' ? 'containerImage' : field)
  it('has the names that whoever asked knows, of fields', () => {
    const refusal = withRenamedFields(refusedFields([error('image', 'is required')]), toRecord) as PlatformError
    expect(refusal.message).to.equal('The field "containerImage" is required.')
  })
  it('and of rules', () => {
    const broken = new PlatformError('RULE_VIOLATION', 'The field "image" is needed.', { field: 'image', value: null })
    const { message, extras } = withRenamedFields(broken, toRecord) as PlatformError
    expect([message, extras.field]).to.deep.equal(['The field "containerImage" is needed.', 'containerImage'])
  })
})

function error(field: string, message: string): FieldError {
  return { field, message }
}
