import { expect } from 'chai'
import { z } from 'zod'
import { unknownFieldReason } from './unknownField.ts'

const Probe = z.strictObject({ seconds: z.int(), path: z.string() })
const schema = z.strictObject({
  replicas: z.int().default(1),
  probe: Probe.nullish(),
  ports: z.array(z.strictObject({ containerPort: z.int() })).default([]),
  tags: z.record(z.string(), z.strictObject({ value: z.string() })),
  source: z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('Git'), repository: z.string() }),
    z.strictObject({ kind: z.literal('Image'), image: z.string() }),
  ]),
})

describe('a field that a record does not have', () => {
  const cases: [sentence: string, path: PropertyKey[], field: string, meant: string][] = [
    ['is near one of the record', [], 'replica', 'replicas'],
    ['is near one of a record that may be absent', ['probe'], 'second', 'seconds'],
    ['is near one of an item of a list', ['ports', 3], 'containerport', 'containerPort'],
    ['is near one of a value of a map', ['tags', 'team'], 'values', 'value'],
    ['is near one of any of several forms', ['source'], 'repositry', 'repository'],
    ['is near none', [], 'colour', ''],
    ['stands where there is no record', ['replicas'], 'x', ''],
    ['is named like what all objects have', ['constructor'], 'prototyp', ''],
  ]
  for (const [sentence, path, field, meant] of cases)
    it(sentence, () =>
      expect(unknownFieldReason(schema, path, field)).to.equal(
        `is not a field of this record${meant === '' ? '' : `; did you mean "${meant}"?`}`,
      ),
    )
})
