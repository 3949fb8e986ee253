import { expect } from 'chai'
import { type Schema, schemaOfKind, unknownFields } from './kubernetesSchema.ts'

const SCHEMAS = {
  Port: { properties: { port: {}, name: {} } },
  Thing: {
    'x-kubernetes-group-version-kind': [{ group: 'example.com', version: 'v1', kind: 'Thing' }],
    properties: {
      spec: {
        properties: {
          replicas: {},
          ports: { items: { allOf: [{ $ref: '#/components/schemas/Port' }] } },
          tags: { additionalProperties: {} },
          limits: { additionalProperties: { $ref: '#/components/schemas/Port' } },
          free: { 'x-kubernetes-preserve-unknown-fields': true, properties: { known: {} } },
        },
      },
    },
  },
}

describe('unknownFields and schemaOfKind', () => {
  for (const [sentence, spec, expected] of [
    [
      'return nothing if all fields are known',
      { replicas: 1, ports: [{ port: 1 }], tags: { any: 'x' }, free: { any: 1 } },
      [],
    ],
    [
      'suggest a field with a similar name',
      { replcas: 1 },
      ['spec.replcas is not a field of this kind; did you mean "replicas"?'],
    ],
    [
      'return all unknown fields',
      { zebra: 1, lion: 2 },
      ['spec.zebra is not a field of this kind.', 'spec.lion is not a field of this kind.'],
    ],
    [
      'check the items of a list',
      { ports: [{ port: 1 }, { prt: 2 }] },
      ['spec.ports[1].prt is not a field of this kind; did you mean "port"?'],
    ],
    [
      'check the values of a map',
      { limits: { cpu: { nam: 1 } } },
      ['spec.limits.cpu.nam is not a field of this kind; did you mean "name"?'],
    ],
  ] as const) {
    it(sentence, () => {
      const schema = schemaOfKind(SCHEMAS, 'example.com/v1', 'Thing') as Schema
      expect(unknownFields({ spec }, schema, SCHEMAS)).to.deep.equal(expected)
    })
  }

  it('return no schema for the kind in another group', () => {
    expect(schemaOfKind(SCHEMAS, 'v1', 'Thing')).to.equal(undefined)
  })
})
