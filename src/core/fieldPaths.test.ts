import { expect } from 'chai'
import { z } from 'zod'
import { withFieldPaths } from './fieldPaths.ts'

const Said = z.object({ id: z.int(), commit: z.string().nullish() })
const read = (body: unknown) => withFieldPaths({ id: 'id', commit: 'head.sha' }, Said).safeParse(body).data

describe('withFieldPaths', () => {
  const cases: [sentence: string, told: unknown, read: object | undefined][] = [
    ['reads nested fields under their own names', { id: 1, head: { sha: 'a' }, more: 2 }, { id: 1, commit: 'a' }],
    ['accepts missing optional fields', { id: 1 }, { id: 1, commit: undefined }],
    ['accepts null', { id: 1, head: { sha: null } }, { id: 1, commit: null }],
    ['ignores a path into an array', { id: 1, head: ['a'] }, { id: 1, commit: undefined }],
    ['rejects a missing required field', { head: { sha: 'a' } }, undefined],
    ['rejects a string', 'id', undefined],
    ['rejects null instead of an object', null, undefined],
  ]
  for (const [sentence, body, expected] of cases) {
    it(sentence, () => {
      expect(read(body)).to.deep.equal(expected)
    })
  }

  it('ignores inherited properties', () => {
    const schema = z.object({ name: z.unknown() })
    expect(withFieldPaths({ name: 'constructor.name' }, schema).parse({})).to.deep.equal({ name: undefined })
  })
})
