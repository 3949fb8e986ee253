import { expect } from 'chai'
import type { z } from 'zod'
import { instanceRecord } from '../containerinstances/record.ts'
import { jobRecord } from '../jobs/record.ts'
import { accountRecord } from '../objectstorage/record.ts'
import { relationalRecord } from '../relational/record.ts'
import { sqlRecord } from '../sql/record.ts'
import { vaultRecord } from '../vaults/record.ts'
import { vectorRecord } from '../vector/record.ts'

const missing = (body: z.ZodType, value: object) =>
  (body.safeParse(value).error?.issues ?? []).map(({ path }) => path.join('.'))

describe('the body of a record', () => {
  it('wants what its kind has no default for, absent or null', () => {
    expect(missing(instanceRecord.body, {})).to.deep.equal(['components'])
    expect(missing(instanceRecord.body, { components: null })).to.deep.equal(['components'])
    expect(missing(jobRecord.body, {})).to.deep.equal(['image'])
    expect(missing(jobRecord.body, { image: null })).to.deep.equal(['image'])
  })

  it('wants nothing of a kind that has a default for everything', () => {
    for (const { body } of [vectorRecord, relationalRecord, sqlRecord, vaultRecord, accountRecord])
      expect(missing(body, {})).to.deep.equal([])
  })
})
