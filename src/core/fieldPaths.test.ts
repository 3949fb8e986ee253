import { expect } from 'chai'
import { z } from 'zod'
import { withFieldPaths } from './fieldPaths.ts'

const Said = z.object({ id: z.int(), commit: z.string().nullish() })
const read = (told: unknown) => withFieldPaths({ id: 'id', commit: 'head.sha' }, Said).safeParse(told).data

describe('what another system says', () => {
  const cases: [sentence: string, told: unknown, read: object | undefined][] = [
    ['is read where it stands, and in our words', { id: 1, head: { sha: 'a' }, more: 2 }, { id: 1, commit: 'a' }],
    ['may lack what the schema can miss', { id: 1 }, { id: 1, commit: undefined }],
    ['may say that there is none', { id: 1, head: { sha: null } }, { id: 1, commit: null }],
    ['is not looked for in what is no object', { id: 1, head: ['a'] }, { id: 1, commit: undefined }],
    ['is refused without what the schema needs', { head: { sha: 'a' } }, undefined],
    ['is refused if it is no object', 'id', undefined],
    ['is refused if it is nothing', null, undefined],
  ]
  for (const [sentence, told, expected] of cases) {
    it(sentence, () => {
      expect(read(told)).to.deep.equal(expected)
    })
  }

  it('is not what every object has', () => {
    const schema = z.object({ name: z.unknown() })
    expect(withFieldPaths({ name: 'constructor.name' }, schema).parse({})).to.deep.equal({ name: undefined })
  })
})
