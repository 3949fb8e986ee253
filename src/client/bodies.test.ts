import { expect } from 'chai'
import { BODIES } from './bodies.ts'

describe('the body by which something is created', () => {
  for (const [route, fields] of Object.entries(BODIES)) {
    it(`says what each field means: ${route}`, () => {
      const silent = fields.filter(({ about }) => about === undefined || about === '').map(({ name }) => name)
      expect(silent, 'describe it in the kind or in the body').to.deep.equal([])
    })
  }
})
