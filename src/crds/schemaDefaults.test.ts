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

describe('records without defaults', () => {
  const thin = listMapOf('name', stripDefaults(Item), 5)

  it('keep what is written as it is', () => {
    const written = [{ name: 'a', ports: [{ name: 'http' }] }, { name: 'b' }]
    expect(thin.parse(written)).to.deep.equal(written)
    expect(() => thin.parse([{ name: 'a', ports: [{ name: 'x' }, { name: 'x' }] }])).to.throw('the same name twice')
  })

  it('are completed by the schema that they were made of', () => {
    const whole = fullSchemaOf(thin).parse([{ name: 'a', ports: [{ name: 'http' }] }, { name: 'b' }])
    expect(whole).to.deep.equal([
      { name: 'a', ports: [{ name: 'http', protocol: 'Tcp' }] },
      { name: 'b', ports: [] },
    ])
  })

  it('are completed around what is no longer taken, which stays as it is', () => {
    const stored = [{ name: 'a', user: 'root', ports: [{ name: 'http', protocol: 'Sctp' }] }, { name: 'b' }]
    expect(withDefaults(fullSchemaOf(thin), stored)).to.deep.equal([stored[0], { name: 'b', ports: [] }])
    expect(withDefaults(fullSchemaOf(thin), [{ name: 7, ports: [{ name: 'http' }] }])).to.deep.equal([
      { name: 7, ports: [{ name: 'http', protocol: 'Tcp' }] },
    ])
  })

  it('are what is left of a whole one', () => {
    const whole = [
      { name: 'a', ports: [{ name: 'http', protocol: 'Tcp' }], user: null },
      { name: 'b', ports: [] },
    ]
    expect(stripDefaultValues(fullSchemaOf(thin), whole)).to.deep.equal([
      { name: 'a', ports: [{ name: 'http' }] },
      { name: 'b' },
    ])
  })

  it('say what an absent field means, and keep how lists are merged', () => {
    const text = JSON.stringify(structuralSchema(thin, 'items'))
    expect(text).to.include('Where it listens; none if absent').and.to.include('What is spoken; Tcp if absent')
    expect(text).not.to.include('"default"')
    expect(text.match(/"x-kubernetes-list-type":"map"/g)).to.have.length(2)
  })
})
