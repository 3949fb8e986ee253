import { expect } from 'chai'
import { BODIES } from './bodies.ts'

describe('BODIES', () => {
  for (const [route, fields] of Object.entries(BODIES)) {
    it(`describes each field: ${route}`, () => {
      const silent = fields.filter(({ about }) => about === undefined || about === '').map(({ name }) => name)
      expect(silent, 'describe it in the kind or in the body').to.deep.equal([])
    })
  }
})
