import { expect } from 'chai'
import { z } from 'zod'
import { Cores } from '../crds/fields.ts'
import { describeIssue } from './schemaIssues.ts'

describe('describeIssue', () => {
  const cases: [sentence: string, schema: z.ZodType, value: unknown, said: string][] = [
    ['uses the singular for one item', z.array(z.string()).min(1), [], 'must have at least 1 item'],
    ['uses the plural for several items', z.array(z.string()).min(2), [], 'must have at least 2 items'],
    ['uses the singular for one character', z.string().max(1), 'ab', 'must have at most 1 character'],
    ['names the expected type', z.string(), 1, 'must be a string'],
    [
      'describes the expected value with an example',
      Cores,
      20,
      'must be a quantity of cores, more than 0 and at most 100k, such as 500m or 2',
    ],
    ['reports a missing value as required', Cores, undefined, 'is required (a string)'],
    [
      'describes the expected value of an optional field',
      Cores.nullish(),
      20,
      'must be a quantity of cores, more than 0 and at most 100k, such as 500m or 2',
    ],
  ]
  for (const [sentence, schema, value, message] of cases)
    it(sentence, () => {
      const { error } = schema.safeParse(value, { reportInput: true })
      expect(error?.issues.map(describeIssue)).to.deep.equal([message])
    })
})
