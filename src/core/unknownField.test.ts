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

describe('unknownFieldReason', () => {
  const cases: [sentence: string, path: PropertyKey[], field: string, meant: string][] = [
    ['suggests a field of the record', [], 'replica', 'replicas'],
    ['suggests a field of an optional record', ['probe'], 'second', 'seconds'],
    ['suggests a field of a list item', ['ports', 3], 'containerport', 'containerPort'],
    ['suggests a field of a map value', ['tags', 'team'], 'values', 'value'],
    ['suggests a field of one of several variants', ['source'], 'repositry', 'repository'],
    ['suggests nothing if no field is similar', [], 'colour', ''],
    ['suggests nothing below a field that is not a record', ['replicas'], 'x', ''],
    ['suggests no property of every object', ['constructor'], 'prototyp', ''],
  ]
  for (const [sentence, path, field, meant] of cases)
    it(sentence, () =>
      expect(unknownFieldReason(schema, path, field)).to.equal(
        `is not a field of this record${meant === '' ? '' : `; did you mean "${meant}"?`}`,
      ),
    )
})
