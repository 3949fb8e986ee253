import { expect } from 'chai'
import { z } from 'zod'
import { Cores } from '../crds/fields.ts'
import { describeIssue } from './schemaIssues.ts'

describe('the reason that a value is refused for', () => {
  const cases: [sentence: string, schema: z.ZodType, value: unknown, said: string][] = [
    ['counts one item', z.array(z.string()).min(1), [], 'must have at least 1 item'],
    ['counts several items', z.array(z.string()).min(2), [], 'must have at least 2 items'],
    ['counts one character', z.string().max(1), 'ab', 'must have at most 1 character'],
    ['names the type', z.string(), 1, 'must be a string'],
    [
      'names what the schema wants, and an example',
      Cores,
      20,
      'must be a quantity of cores, more than 0 and at most 100k, such as 500m or 2',
    ],
    ['says of the same that it lacks', Cores, undefined, 'is required (a string)'],
    [
      'says of what may be absent what it wants',
      Cores.nullish(),
      20,
      'must be a quantity of cores, more than 0 and at most 100k, such as 500m or 2',
    ],
  ]
  for (const [sentence, schema, value, said] of cases)
    it(sentence, () => {
      const { error } = schema.safeParse(value, { reportInput: true })
      expect(error?.issues.map(describeIssue)).to.deep.equal([said])
    })
})
