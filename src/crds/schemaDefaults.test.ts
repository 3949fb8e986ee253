import { expect } from 'chai'
import { z } from 'zod'
import { listMapOf } from './fields.ts'
import { fullSchemaOf, stripDefaults, stripDefaultValues, withDefaults } from './schemaDefaults.ts'
import { structuralSchema } from './structural.ts'

const Port = z.strictObject({
  name: z.string(),
  protocol: z.enum(['Tcp', 'Udp']).default('Tcp').describe('What is spoken'),
})
const Item = z.strictObject({
  name: z.string(),
  ports: listMapOf('name', Port, 5).default([]).describe('Where it listens'),
  user: z.int().optional().describe('Who it is'),
})

describe('stripDefaults, fullSchemaOf, withDefaults and stripDefaultValues', () => {
  const thin = listMapOf('name', stripDefaults(Item), 5)

  it('keep a record as it was written', () => {
    const written = [{ name: 'a', ports: [{ name: 'http' }] }, { name: 'b' }]
    expect(thin.parse(written)).to.deep.equal(written)
    expect(() => thin.parse([{ name: 'a', ports: [{ name: 'x' }, { name: 'x' }] }])).to.throw('the same name twice')
  })

  it('add defaults with the full schema', () => {
    const whole = fullSchemaOf(thin).parse([{ name: 'a', ports: [{ name: 'http' }] }, { name: 'b' }])
    expect(whole).to.deep.equal([
      { name: 'a', ports: [{ name: 'http', protocol: 'Tcp' }] },
      { name: 'b', ports: [] },
    ])
  })

  it('add defaults around values that are no longer valid', () => {
    const stored = [{ name: 'a', user: 'root', ports: [{ name: 'http', protocol: 'Sctp' }] }, { name: 'b' }]
    expect(withDefaults(fullSchemaOf(thin), stored)).to.deep.equal([stored[0], { name: 'b', ports: [] }])
    expect(withDefaults(fullSchemaOf(thin), [{ name: 7, ports: [{ name: 'http' }] }])).to.deep.equal([
      { name: 7, ports: [{ name: 'http', protocol: 'Tcp' }] },
    ])
  })

  it('remove defaults from a complete record', () => {
    const whole = [
      { name: 'a', ports: [{ name: 'http', protocol: 'Tcp' }], user: null },
      { name: 'b', ports: [] },
    ]
    expect(stripDefaultValues(fullSchemaOf(thin), whole)).to.deep.equal([
      { name: 'a', ports: [{ name: 'http' }] },
      { name: 'b' },
    ])
  })

  it('describe defaults and keep the merge keys of lists', () => {
    const text = JSON.stringify(structuralSchema(thin, 'items'))
    expect(text).to.include('Where it listens; none if absent').and.to.include('What is spoken; Tcp if absent')
    expect(text).not.to.include('"default"')
    expect(text.match(/"x-kubernetes-list-type":"map"/g)).to.have.length(2)
  })
})
